/** The voices that a book can have: their names, hues and menus. */
import { h } from "../shared/dom.js";
import { figureHue } from "../voices/voice-figure.js";
import "../voices/messages.js";
import { setMessage, t } from "./words.js";

export class Voices {
  #voices = [];

  /** @param {object[]} voices of GET /api/voices */
  show(voices) {
    this.#voices = voices.filter(({ usable = true }) => usable);
  }

  /** A voice that is gone keeps its id as a name. */
  name(id) {
    const voice = this.#voices.find((one) => one.id === id);
    if (id === "default" && voice?.kind !== "custom") return t("voices.default");
    return voice?.name || id;
  }

  /**
   * Offers all voices in a menu.
   * @param {HTMLSelectElement} select @param {string | null} chosen @param {string} [own] the book's voice, where it is a choice
   */
  fill(select, chosen, own) {
    const ids = new Set([...this.#voices.map(({ id }) => id), chosen].filter(Boolean));
    const option = (id) => setMessage(h("option", { value: id }), "text.plain", { text: () => this.name(id) });
    const asBook = own === undefined ? [] : [setMessage(h("option", { value: "" }), "book.ownVoice", { name: () => this.name(own) })];
    select.replaceChildren(...asBook, ...[...ids].map(option));
    select.value = chosen ?? "";
  }
}

/** Gives an element the hue of a voice. */
export function tint(element, id) {
  element.style.setProperty("--hue", figureHue(id));
}
