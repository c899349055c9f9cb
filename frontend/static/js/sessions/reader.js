/**
 * The text of a recording: words that light up while they are spoken, and take the player to them when clicked. Each
 * utterance begins with its time, which is a button for the keyboard.
 */
import { h } from "../shared/dom.js";
import { clock } from "../shared/format.js";
import { outcomeText } from "./event-list.js";
import { setLabel, setMessage } from "./words.js";

const MARGIN_PIXELS = 24;
const SCROLL_PATIENCE_MS = 4000;

export class Reader extends EventTarget {
  #box;
  #narrative;
  #spans = [];
  #current = -1;
  #scrolledAt = -Infinity;
  #still = matchMedia("(prefers-reduced-motion: reduce)");

  /** @param {HTMLElement} box that scrolls @param {import("./narrative.js").Narrative} narrative */
  constructor(box, narrative) {
    super();
    this.#box = box;
    this.#narrative = narrative;
    box.replaceChildren(...narrative.utterances.map((utterance) => this.#paragraph(utterance)));
    for (const type of ["wheel", "touchmove"]) box.addEventListener(type, () => (this.#scrolledAt = performance.now()), { passive: true });
  }

  /** @param {number} seconds of the audio @param {boolean} playing whether it is being heard */
  show(seconds, playing) {
    const index = this.#narrative.wordAt(seconds);
    const word = this.#narrative.words[index];
    const now = word && seconds >= word.from && seconds < word.to && (playing || seconds > 0) ? index : -1;
    if (index === this.#current && this.#spans[index]?.classList.contains("now") === (now === index)) return;
    const from = Math.max(0, Math.min(index, this.#current));
    for (let each = from; each <= Math.max(index, this.#current) && each < this.#spans.length; each += 1) {
      this.#spans[each].classList.toggle("heard", each <= index && (seconds > 0 || playing));
      this.#spans[each].classList.toggle("now", each === now);
    }
    this.#current = index;
    if (now >= 0 && playing) this.#follow(this.#spans[now]);
  }

  #paragraph({ points, words, from, index, outcome }) {
    const start = h("button", { class: "utterance-time", type: "button", onclick: () => this.#seek(from) }, clock(from).replace(/\.\d$/, ""));
    setLabel(start, "session.playFrom", { time: clock(from), text: points.slice(0, 40).join("").trim() });
    const text = h("p", { class: "script-text", dir: "auto", "data-utterance": index });
    let shown = 0;
    for (const word of words) {
      const span = h("span", { class: "word", onclick: () => this.#seek(word.from) }, word.text);
      text.append(points.slice(shown, word.start).join(""), span);
      this.#spans.push(span);
      shown = word.end;
    }
    text.append(points.slice(shown).join(""));
    const ended = ["stop", null, undefined].includes(outcome) ? null : setMessage(h("span", { class: "cut" }), "text.plain", { text: () => outcomeText(outcome) });
    if (ended) text.append(ended);
    return h("div", { class: "utterance" }, start, text);
  }

  #seek(seconds) {
    this.dispatchEvent(new CustomEvent("seek", { detail: seconds }));
  }

  #follow(element) {
    if (performance.now() - this.#scrolledAt < SCROLL_PATIENCE_MS) return;
    const box = this.#box.getBoundingClientRect();
    const { top, bottom } = element.getBoundingClientRect();
    if (top >= box.top + MARGIN_PIXELS && bottom <= box.bottom - MARGIN_PIXELS) return;
    this.#box.scrollTo({ top: this.#box.scrollTop + (top - box.top) - box.height / 3, behavior: this.#still.matches ? "auto" : "smooth" });
  }
}
