/**
 * Sentences to read aloud, one after the other: each take that is kept is a recording whose words are known.
 *
 * Event "kept" (detail: {audio, name, transcript, seconds}).
 */
import { Recorder } from "../audio/recorder.js";
import { h, icon } from "../shared/page/dom.js";
import { RecordingPanel } from "../voices/take/recording-panel.js";
import { SENTENCES } from "./sentences.js";
import { language, recordingProblem, setMessage } from "./words.js";

/** Remarks that hold for the one recording of a voice, not for one of many. */
const OF_A_VOICE_ALONE = ["short", "long", "pauses", "long_pause"];

export class Reading extends EventTarget {
  #panel = new RecordingPanel({ ignored: OF_A_VOICE_ALONE, advice: "train.readAdvice", errorText: recordingProblem });
  #sentence = h("blockquote", { class: "passage", id: "sentence", "aria-live": "polite" });
  #number = h("span", { class: "quiet" });
  #keep = h("button", { class: "button button-primary", type: "button", id: "keep" }, icon("check"), h("span", { "data-i18n": "train.keep" }));
  #place = 0;

  constructor() {
    super();
    const next = h("button", { class: "button button-quiet", type: "button", id: "another", "data-i18n": "train.another" });
    next.addEventListener("click", () => this.#show(this.#place + 1));
    this.#keep.addEventListener("click", () => this.#kept());
    for (const event of ["change", "examined"]) this.#panel.addEventListener(event, () => this.#offer());
    window.addEventListener("languageset", () => this.#show(this.#place));
    this.element = Recorder.available
      ? h(
          "div",
          { class: "train-reading" },
          h("div", { class: "train-reading-head" }, this.#number, next),
          this.#sentence,
          this.#panel.element,
          this.#keep,
        )
      : h("p", { class: "notice", "data-i18n": "record.insecure" });
    this.#show(0);
    this.#offer();
  }

  #show(place) {
    const sentences = SENTENCES[language()];
    this.#place = place % sentences.length;
    this.#sentence.textContent = sentences[this.#place];
    setMessage(this.#number, "train.sentence", { number: this.#place + 1, count: sentences.length });
    this.#panel.reset();
    this.#offer();
  }

  #offer() {
    this.#keep.hidden = this.#panel.take === null || this.#panel.refused;
  }

  #kept() {
    const { take } = this.#panel;
    const detail = { audio: take.wav(), name: `${this.#place + 1}.wav`, transcript: this.#sentence.textContent, seconds: take.to - take.from };
    this.dispatchEvent(new CustomEvent("kept", { detail }));
    this.#show(this.#place + 1);
    this.#panel.element.querySelector("button").focus();
  }
}
