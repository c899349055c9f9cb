/**
 * The voices that the service has, and the button that deletes one of somebody's.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { h, icon } from "../../shared/page/dom.js";
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

export class VoicesSection extends Section {
  #voices = [];

  constructor(page) {
    super("voices", "/api/voices", page);
    window.addEventListener("languageset", () => this.show({ voices: this.#voices }));
  }

  /** @param {{voices: object[]}} answer */
  show({ voices }) {
    this.#voices = voices;
    rememberVoices(voices);
    this.body.replaceChildren(...voices.map((voice) => this.#row(voice)));
    if (voices.length === 0) this.body.append(h("li", { class: "empty", "data-i18n": "admin.noVoices" }));
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
