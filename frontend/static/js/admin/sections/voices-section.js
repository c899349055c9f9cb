/**
 * The voices that the service has, and the button that deletes one of somebody's.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { h, icon } from "../../shared/page/dom.js";
import { keepFocus } from "../../shared/page/focus.js";
import { finder } from "../../shared/page/search.js";
import { latency } from "../../i18n/format.js";
import { lackOf } from "../../voices/lack.js";
import { voiceName } from "../../voices/voice-name.js";
import { Section } from "./section.js";
import { rememberVoices } from "../../voices/voice-names.js";
import { setLabel, t } from "../words.js";

/** What is known of a voice, in words. */
export function voiceFacts(voice) {
  const { kind, language, audio_seconds: seconds, has_transcript: transcript, tags = [] } = voice;
  const lack = lackOf(voice);
  const facts = [
    kind === "custom" ? t("admin.voiceCustom") : t("admin.voiceBuiltIn"),
    language,
    typeof seconds === "number" && latency(seconds),
    transcript && t("admin.voiceTranscript"),
    ...tags,
    lack && t(`voices.lacks.${lack}`),
  ];
  return facts.filter(Boolean).join(" · ");
}

/** So many are seen without a search. */
const FEW = 5;

export class VoicesSection extends Section {
  #voices = [];
  #search = h("input", { type: "search", class: "fold-search", autocomplete: "off", "data-i18n-placeholder": "voices.search", "data-i18n-label": "voices.search", hidden: true });

  constructor(page) {
    super("voices", "/api/voices", page);
    this.body.before(this.#search);
    this.#search.addEventListener("input", () => this.#draw());
    window.addEventListener("languageset", () => this.#draw());
  }

  /** @param {{voices: object[]}} answer */
  show({ voices }) {
    this.#voices = voices;
    rememberVoices(voices);
    this.#search.hidden = voices.length <= FEW;
    if (this.#search.hidden) this.#search.value = "";
    this.#draw();
  }

  /** The voices that have all words of the search in their names or in what is known of them. */
  #draw() {
    const found = finder(this.#search.value);
    const shown = this.#voices.filter((voice) => found([voice.id, voiceName(voice), voiceFacts(voice)].join(" ")));
    const rows = shown.map((voice) => this.#row(voice));
    if (rows.length === 0) rows.push(h("li", { class: "empty", "data-i18n": this.#voices.length === 0 ? "admin.noVoices" : "voices.noMatch" }));
    keepFocus(this.body, "data-voice", () => this.body.replaceChildren(...rows), this.#search);
  }

  #row(voice) {
    const { id, kind } = voice;
    const shown = voiceName(voice);
    const remove = h(
      "button",
      { class: "button-icon", type: "button", onclick: () => this.#delete(voice) },
      icon("trash"),
    );
    setLabel(remove, "admin.deleteVoice", { name: shown });
    return h(
      "li",
      { class: "request", "data-voice": id },
      h("div", { class: "request-words" }, h("span", { class: "request-name" }, shown), h("span", { class: "request-facts" }, voiceFacts(voice))),
      lackOf(voice) && h("span", { class: "chip-warn" }, t("admin.unusable")),
      kind === "custom" && remove,
    );
  }

  async #delete(voice) {
    const name = voiceName(voice);
    const sure = { title: t("admin.deleteVoice", { name }), text: t("admin.deleteVoiceText"), verb: t("admin.delete") };
    if (!(await confirmed(sure))) return;
    if (await this.send("DELETE", `/api/voices/${encodeURIComponent(voice.id)}`)) {
      this.page.say(t("admin.voiceDeleted", { name }));
      await this.load();
    }
  }
}
