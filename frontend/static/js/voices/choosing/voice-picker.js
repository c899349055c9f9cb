/**
 * The voices as cards of one radio group: arrow keys move, the Tab key goes on to the buttons of the chosen one.
 *
 * Each card carries a small figure drawn from the voice's id, so that voices are told apart at a glance without
 * pictures, and buttons to hear and, where it is the reader's own, to edit it. With many voices a search appears.
 *
 * Events: "change" (another voice is chosen), "edit" and "agree", to its use (detail: the voice).
 */
import { h, icon } from "../../shared/page/dom.js";
import { keepFocus } from "../../shared/page/focus.js";
import { setLabel, setMessage, t } from "../../i18n/i18n.js";
import { nameOf } from "../../i18n/languages.js";
import "../messages.js";
import { Preview } from "./preview.js";
import { voiceFigure } from "./voice-figure.js";
import { VoiceFilter } from "./voice-filter.js";
import { lackOf } from "../lack.js";
import { isDefault, voiceName } from "../voice-name.js";

export class VoicePicker extends EventTarget {
  #list;
  #filter;
  #preview = new Preview();
  #voices = [];
  /** What was drawn of each voice: a search shows it again. @type {Map<object, HTMLElement>} */
  #cards = new Map();
  #chosen = null;
  #editable = false;

  /**
   * @param {HTMLElement} list the radiogroup element
   * @param {HTMLElement} [tools] where the search goes; before the list otherwise
   */
  constructor(list, tools) {
    super();
    this.#list = list;
    this.#filter = new VoiceFilter(() => this.#showCards());
    if (tools) tools.append(this.#filter.element);
    else list.before(this.#filter.element);
    list.addEventListener("change", ({ target }) => {
      this.#choose(target.value);
      this.#reach();
    });
  }

  /** Id of the chosen voice, "default" while there is none. */
  get value() {
    return this.#chosen ?? "default";
  }

  get voice() {
    return this.#voices.find(({ id }) => id === this.#chosen) ?? null;
  }

  get voices() {
    return this.#voices;
  }

  /** Whether the reader's own voices have a button that asks to edit them. */
  set editable(editable) {
    if (editable === this.#editable) return;
    this.#editable = editable;
    this.#cards.clear();
    if (this.#voices.length > 0) this.#showCards();
  }

  /** Puts the keyboard's focus on the chosen voice. */
  focus() {
    (this.#list.querySelector("input:checked") ?? this.#list.querySelector("input"))?.focus();
  }

  showLoading() {
    const skeletons = Array.from({ length: 4 }, () => h("div", { class: "voice-card skeleton" }));
    this.#list.replaceChildren(...skeletons);
    this.#list.setAttribute("aria-busy", "true");
  }

  /** @param {object[]} voices of GET /api/voices @param {string} [chosen] id, the first otherwise */
  show(voices, chosen) {
    this.#voices = voices;
    this.#cards.clear();
    this.#preview.keep(voices);
    const usable = (id) => voices.some((voice) => voice.id === id);
    const former = this.#chosen;
    this.#chosen = usable(chosen) ? chosen : (voices[0]?.id ?? null);
    this.#list.removeAttribute("aria-busy");
    this.#filter.offer(voices);
    this.#showCards();
    if (this.#chosen !== former) this.#reveal();
  }

  /** Chooses a voice, as a click would. @returns {boolean} whether there is such a voice */
  select(id) {
    const known = this.#voices.some((voice) => voice.id === id);
    if (known) {
      this.#choose(id);
      this.#showCards();
      this.#reveal();
    }
    return known;
  }

  /** @param {string} message @param {() => void} onRetry */
  showError(message, onRetry) {
    this.#list.removeAttribute("aria-busy");
    this.#list.replaceChildren(
      h("div", { class: "notice notice-danger", role: "alert" }, icon("warning"), h("p", {}, message)),
      h("button", { class: "button", type: "button", onclick: onRetry, "data-i18n": "dialog.tryAgain" }),
    );
  }

  #choose(id) {
    this.#chosen = id;
    this.dispatchEvent(new Event("change"));
  }

  #showCards() {
    const shown = this.#filter.apply(this.#voices, this.#chosen);
    keepFocus(this.#list, "data-voice", () => this.#list.replaceChildren(...shown.map((voice) => this.#cardOf(voice))));
    this.#reach();
    if (shown.length > 0) return;
    const key = this.#voices.length === 0 ? "voices.none" : "voices.noMatch";
    this.#list.append(h("p", { class: "quiet", "data-i18n": key }));
  }

  /** Scrolls the list to the chosen card, and not the page to the list. */
  #reveal() {
    const card = this.#list.querySelector("input:checked")?.closest("[data-voice]");
    if (!card) return;
    const { top, bottom } = card.getBoundingClientRect();
    const frame = this.#list.getBoundingClientRect();
    if (top < frame.top || bottom > frame.bottom) this.#list.scrollTop += (top + bottom - frame.top - frame.bottom) / 2;
  }

  /** The Tab key stops at the buttons of the chosen voice alone: those of a hundred would be too many. */
  #reach() {
    for (const button of this.#list.querySelectorAll("[data-voice] button")) {
      button.tabIndex = button.closest("[data-voice]").dataset.voice === this.#chosen ? 0 : -1;
    }
  }

  #cardOf(voice) {
    if (!this.#cards.has(voice)) this.#cards.set(voice, this.#card(voice));
    const card = this.#cards.get(voice);
    card.querySelector("input").checked = voice.id === this.#chosen;
    return card;
  }

  #card(voice) {
    const { id } = voice;
    const lack = lackOf(voice);
    return h(
      "div",
      { class: "voice-card", "data-voice": id, "data-usable": String(!lack) },
      h(
        "label",
        { class: "voice-pick" },
        h("input", { type: "radio", name: "voice", value: id }),
        voiceFigure(id),
        h("span", { class: "voice-words" }, title(voice), about(voice)),
      ),
      this.#buttons(voice),
      lack === "consent" && this.#mine(voice) ? this.#agreeButton(voice) : null,
    );
  }

  /** Whether the reader may change it here. */
  #mine({ kind, owner_is_me: mine }) {
    return this.#editable && kind === "custom" && mine !== false;
  }

  #agreeButton(voice) {
    const button = h("button", { class: "link voice-agree", type: "button", "data-i18n": "problem.consent" });
    button.addEventListener("click", () => this.dispatchEvent(new CustomEvent("agree", { detail: voice })));
    return button;
  }

  #buttons(voice) {
    const name = voiceName(voice);
    const buttons = [];
    if (voice.preview_url) buttons.push(this.#preview.button(voice));
    if (this.#mine(voice)) {
      const edit = h("button", { class: "button-icon", type: "button" }, icon("edit"));
      setLabel(edit, "voices.edit", { name });
      edit.addEventListener("click", () => this.dispatchEvent(new CustomEvent("edit", { detail: voice })));
      buttons.push(edit);
    }
    return buttons.length > 0 ? h("span", { class: "voice-buttons" }, buttons) : null;
  }
}

/** What the gateway says of it where the model says nothing. */
const UNTOLD = "The model's own voice";

function title(voice) {
  const element = h("span", { class: "voice-name", dir: "auto", "data-language": voice.language || null });
  setLabel(element, "text.plain", { text: () => voiceName(voice) }, "title");
  return setMessage(element, "text.plain", { text: () => voiceName(voice) });
}

function about(voice) {
  const { language, description, tags = [] } = voice;
  const lack = lackOf(voice);
  const words = h("span", { class: "voice-about", dir: "auto" });
  if (isDefault(voice) && (!description || description === UNTOLD)) return setMessage(words, "voices.defaultAbout");
  if (lack) return setLabel(setMessage(h("span", { class: "voice-about voice-lacks" }), `voices.lacks.${lack}`), `voices.lacks.${lack}`, {}, "title");
  const labels = tags.map((tag) => `#${tag}`);
  const all = () => [description, language && nameOf(language), ...labels].filter(Boolean).join(" · ");
  setLabel(words, "text.plain", { text: all }, "title");
  const facts = [description, ...(description && voice.kind === "built-in" ? [] : labels)].filter(Boolean);
  return setMessage(words, "text.plain", { text: () => facts.join(" · ") || t("voices.own") });
}
