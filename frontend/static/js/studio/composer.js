/**
 * The text being written: counter, sample texts, and the draft kept over a reload.
 */
import { h, setText } from "../shared/dom.js";
import { clock, integer } from "../shared/format.js";
import { characterCount, estimateSeconds } from "./estimate.js";

const NEARLY_FULL = 0.9;

const SAMPLES = [
  { label: "Pangram", text: "The quick brown fox jumps over the lazy dog." },
  {
    label: "Harbour",
    text: "The fog lifted a little after six. One by one the boats in the harbour lit their lamps, and someone on the pier began to sing.",
  },
  { label: "Numbers", text: "Flight two forty one to Lisbon leaves at a quarter past nine from gate seventeen." },
  {
    label: "Story",
    text: "Nobody had wound the clock for years, and yet it was never wrong. On the morning it stopped, the whole street came out to ask what time it was. An old woman answered, without looking up from her knitting, that it was time somebody learned how to wind a clock.",
  },
];

export class Composer extends EventTarget {
  #area;
  #counter;
  #limit = Infinity;

  constructor({ area, counter, samples }, draft = "") {
    super();
    this.#area = area;
    this.#counter = counter;
    area.value = draft;
    area.addEventListener("input", () => this.#changed());
    samples.append(...SAMPLES.map((sample) => this.#sampleButton(sample)));
    this.#show();
  }

  get text() {
    return this.#area.value.trim();
  }

  /** Why the text cannot be spoken as it is, or null. */
  get problem() {
    if (this.text === "") return "Write something first.";
    const over = characterCount(this.text) - this.#limit;
    return over > 0 ? `The text is ${integer(over)} characters too long.` : null;
  }

  /** @param {number} characters the server's limit */
  setLimit(characters) {
    this.#limit = characters;
    this.#show();
  }

  focus() {
    this.#area.focus();
  }

  #sampleButton({ label, text }) {
    const write = () => {
      this.#area.value = text;
      this.#changed();
      this.#area.focus();
    };
    return h("button", { class: "chip", type: "button", onclick: write }, label);
  }

  #changed() {
    this.#show();
    this.dispatchEvent(new Event("change"));
  }

  #show() {
    const count = characterCount(this.text);
    const of = count > this.#limit * NEARLY_FULL ? ` of ${integer(this.#limit)}` : "";
    const seconds = estimateSeconds(this.text);
    const about = seconds >= 60 ? `${clock(seconds).slice(0, -2)} min` : `${Math.ceil(seconds)} s`;
    setText(this.#counter, `${integer(count)}${of} characters · about ${about}`);
    this.#counter.classList.toggle("over", count > this.#limit);
  }
}
