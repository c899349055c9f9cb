/**
 * How loud a microphone is right now, on a scale of decibels, with a word for it.
 */
import { h } from "../../shared/page/dom.js";
import { peakOf } from "./take.js";

const FLOOR_DB = -54;
const QUIET_DB = -30;
const HOT_DB = -1;
/** Blocks over which "too quiet" is judged: pauses between words are no reason to complain. */
const MEMORY_BLOCKS = 12;

/** Place of a peak on the scale. @returns {number} in [0, 1] */
export function onScale(peak) {
  if (peak <= 0) return 0;
  return Math.min(1, Math.max(0, 1 - (20 * Math.log10(peak)) / FLOOR_DB));
}

/** @param {number[]} peaks of the last blocks @returns {"hot" | "good" | "quiet"} */
export function judge(peaks) {
  const loudest = 20 * Math.log10(Math.max(1e-6, ...peaks));
  if (loudest > HOT_DB) return "hot";
  return loudest < QUIET_DB ? "quiet" : "good";
}

export class LevelMeter {
  #bar = h("span", { class: "meter-bar" });
  #peaks = [];

  element = h("div", { class: "meter", "aria-hidden": "true" }, this.#bar);

  get verdict() {
    return judge(this.#peaks);
  }

  /** @param {Float32Array | 0} block */
  show(block) {
    const peak = block === 0 ? 0 : peakOf(block);
    this.#peaks = block === 0 ? [] : [...this.#peaks, peak].slice(-MEMORY_BLOCKS);
    this.#bar.style.setProperty("--level", onScale(peak).toFixed(3));
    this.element.dataset.verdict = block === 0 ? "off" : this.verdict;
  }
}
