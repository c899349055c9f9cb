/** The voices that a book can have: their names, hues and menus. */
import { h } from "../shared/page/dom.js";
import { Preview } from "../voices/choosing/preview.js";
import { figureHue } from "../voices/choosing/voice-figure.js";
import { isMade, voiceName } from "../voices/voice-name.js";
import { setMessage, t } from "./words.js";

export class Voices {
  #voices = [];
  #preview = new Preview();

  /** @param {object[]} voices of GET /api/voices */
  show(voices) {
    this.#voices = voices;
  }

  /** Of those that can speak. */
  get ids() {
    return this.#voices.filter(({ usable = true }) => usable).map(({ id }) => id);
  }

  name(id) {
    const voice = this.#of(id);
    return !voice && isMade(id) ? t("book.voiceGone") : voiceName(voice ?? { id });
  }

  /** What the service says of it, in some words; empty where it says nothing. */
  about(id) {
    return this.#of(id)?.description ?? "";
  }

  /** A button that plays it; none where that cannot be. @returns {HTMLElement[]} */
  hear(id) {
    const voice = this.#of(id);
    this.#preview.keep(voice ? [voice] : []);
    return voice?.preview_url ? [this.#preview.button(voice)] : [];
  }

  /** Ends what `hear` began. */
  hush() {
    this.#preview.keep([]);
  }

  #of(id) {
    return this.#voices.find((one) => one.id === id);
  }
}

/** A menu of voices, with the hue of the one that is chosen and a button that plays it. */
export class VoiceMenu {
  #voices;
  #described;
  #own;
  #shown = "";
  #dot = h("i", { class: "voice-dot" });
  #hear = h("span", { class: "voice-hear" });
  select;
  element;

  /** @param {Voices} voices @param {{described?: boolean} & Record<string, string>} attributes of the menu; `described`: with what is said of each */
  constructor(voices, { described = false, ...attributes }) {
    this.#voices = voices;
    this.#described = described;
    this.select = h("select", attributes);
    this.select.addEventListener("change", () => this.#follow());
    this.element = h("span", { class: "book-voice" }, this.#dot, this.select, this.#hear);
  }

  /** Id of the chosen voice; null: the book's. */
  get value() {
    return this.select.value || null;
  }

  /** @param {string | null} chosen @param {string} [own] the book's voice, where it is a choice */
  show(chosen, own) {
    const ids = [...new Set([...this.#voices.ids, chosen].filter(Boolean))];
    const state = JSON.stringify([ids, own]);
    if (state !== this.#shown) {
      const asBook = own === undefined ? [] : [setMessage(h("option", { value: "" }), "book.ownVoice", { name: () => this.#voices.name(own) })];
      this.select.replaceChildren(...asBook, ...ids.map((id) => this.#option(id)));
      this.#shown = state;
      this.#own = own;
    }
    this.select.value = chosen ?? "";
    this.#follow();
  }

  #option(id) {
    const about = this.#described && this.#voices.about(id);
    return setMessage(h("option", { value: id }), "text.plain", { text: () => (about ? `${this.#voices.name(id)} · ${about}` : this.#voices.name(id)) });
  }

  #follow() {
    const id = this.value ?? this.#own;
    if (this.#hear.dataset.voice === id) return;
    this.#hear.dataset.voice = id;
    tint(this.#dot, id);
    this.#hear.replaceChildren(...this.#voices.hear(id));
  }
}

/** Gives an element the hue of a voice. */
export function tint(element, id) {
  element.style.setProperty("--hue", figureHue(id));
}
