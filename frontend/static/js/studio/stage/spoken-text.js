/**
 * The text of the clip on the stage, below its waveform: words light up while they are heard, a click goes there.
 * It is there from the beginning, so that nothing moves once the times of words are known. Event "seek" (detail: seconds).
 */
import { LitWords, timedWords } from "../../shared/hearing/lit-words.js";

export class SpokenText extends EventTarget {
  #box;
  #text;
  #lit;
  #utterance = null;
  /** How many words of it are shown as such. */
  #known = 0;

  /** @param {HTMLElement} box that scrolls @param {HTMLElement} text the paragraph in it */
  constructor(box, text) {
    super();
    this.#box = box;
    this.#text = text;
    this.#lit = new LitWords(box);
    this.#lit.addEventListener("seek", ({ detail }) => this.dispatchEvent(new CustomEvent("seek", { detail })));
  }

  /** @param {import("../utterance.js").Utterance} utterance */
  begin(utterance) {
    const words = timedWords(utterance.subtitles.parts);
    this.#utterance = utterance;
    this.#known = words.length;
    this.#box.hidden = false;
    this.#lit.show([{ element: this.#text, points: [...utterance.request.text], words }]);
  }

  /** More words are known. */
  grow() {
    const words = timedWords(this.#utterance.subtitles.parts);
    this.#lit.more(words.slice(this.#known));
    this.#known = words.length;
  }

  /** @param {number} seconds of the clip @param {boolean} playing */
  move(seconds, playing) {
    this.#lit.move(seconds, playing);
  }
}
