/**
 * The text of the clip on the stage, below its waveform: words light up while they are heard, a click goes there.
 * It is there from the beginning, so that nothing moves once the times of words are known. Event "seek" (detail: seconds).
 */
import { LitWords, timedWords } from "../../shared/hearing/lit-words.js";

export class SpokenText extends EventTarget {
  #box;
  #text;
  #lit;

  /** @param {HTMLElement} box that scrolls @param {HTMLElement} text the paragraph in it */
  constructor(box, text) {
    super();
    this.#box = box;
    this.#text = text;
    this.#lit = new LitWords(box);
    this.#lit.addEventListener("seek", ({ detail }) => this.dispatchEvent(new CustomEvent("seek", { detail })));
  }

  /** What is known by now. @param {import("../utterance.js").Utterance} utterance */
  show({ request, subtitles }) {
    const words = timedWords(subtitles.parts);
    this.#box.hidden = false;
    this.#lit.show([{ element: this.#text, points: [...request.text], words }]);
  }

  /** @param {number} seconds of the clip @param {boolean} playing */
  move(seconds, playing) {
    this.#lit.move(seconds, playing);
  }
}
