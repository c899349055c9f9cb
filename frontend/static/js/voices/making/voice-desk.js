/**
 * Making, changing and deleting voices from a page that has a picker.
 *
 * Events: "renew" (detail: id of the voice to choose once the list is renewed), "said" (detail: a function that tells
 * what happened).
 */
import { h, icon } from "../../shared/page/dom.js";
import { t } from "../../i18n/i18n.js";
import { VoiceSheet } from "./voice-sheet.js";

export class VoiceDesk extends EventTarget {
  #picker;
  #parameters;
  #button = h(
    "button",
    { class: "button button-quiet", type: "button", id: "new-voice", hidden: true },
    icon("plus"),
    h("span", { "data-i18n": "voices.new" }),
  );
  #sheet = null;
  #trains = false;
  #denoises = false;

  /**
   * @param {import("../choosing/voice-picker.js").VoicePicker} picker
   * @param {HTMLElement} place of the button
   * @param {() => object} parameters that the page's sliders say
   */
  constructor(picker, place, parameters) {
    super();
    this.#picker = picker;
    this.#parameters = parameters;
    place.append(this.#button);
    this.#button.addEventListener("click", () => this.#open().create(parameters()));
    picker.addEventListener("edit", ({ detail }) => this.#open().edit(detail, parameters()));
    picker.addEventListener("agree", ({ detail }) => this.#open().edit(detail, parameters(), { agree: true }));
  }

  /** Opens the consent of a voice. @param {string} id */
  agree(id) {
    const voice = this.#picker.voices.find((one) => one.id === id);
    if (voice) this.#open().edit(voice, this.#parameters(), { agree: true });
  }

  /**
   * @param {{pages?: string[], training?: boolean, denoises?: boolean}} config of GET /api/config: voices can be switched
   * off, and may be trained; noise may be taken out of recordings
   */
  offer({ pages, training = false, denoises = false }) {
    this.#trains = training;
    this.#denoises = denoises;
    const open = Array.isArray(pages) && pages.includes("voices");
    this.#button.hidden = !open;
    this.#picker.editable = open;
  }

  #open() {
    if (!this.#sheet) {
      this.#sheet = new VoiceSheet();
      const on = (type, action) => this.#sheet.addEventListener(type, ({ detail }) => action(detail));
      on("kept", () => this.#say("voices.kept"));
      on("made", ({ id, name, usable }) => this.#renew(id, usable === false ? "voices.mute" : "voices.ready", name));
      on("changed", ({ name }) => this.#renew(this.#picker.value, "voices.changed", name));
      on("deleted", ({ name }) => this.#renew(this.#picker.value, "voices.gone", name));
      on("missed", () => this.dispatchEvent(new CustomEvent("renew", { detail: this.#picker.value })));
    }
    this.#sheet.trains = this.#trains;
    this.#sheet.denoises = this.#denoises;
    return this.#sheet;
  }

  #renew(id, key, name) {
    this.dispatchEvent(new CustomEvent("renew", { detail: id }));
    this.#say(key, { name });
  }

  #say(key, values = {}) {
    this.dispatchEvent(new CustomEvent("said", { detail: () => t(key, values) }));
  }
}
