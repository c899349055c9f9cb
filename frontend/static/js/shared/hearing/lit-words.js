/**
 * A text whose words light up while they are spoken, and tell where they are in the audio when they are clicked.
 *
 *   const lit = new LitWords(box);
 *   lit.show([{ element, points: [..."Hello there."], words: [{ start: 0, end: 5, from: 0.1, to: 0.4 }] }]);
 *   lit.more([{ start: 6, end: 12, from: 0.5, to: 0.9 }]); // of the last text
 *   lit.move(0.2, true);
 *
 * Characters are code points, times seconds. Event "seek" (detail: seconds).
 */
import { h } from "../page/dom.js";
import { follower } from "./follower.js";

/** Index of the word that is spoken at a time, or of the last one before it; -1 before the first. */
export function wordAt(words, seconds) {
  let low = -1;
  let high = words.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (words[middle].from <= seconds) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The words of a clip with their places in its text and audio. @param {object[]} parts of Subtitles */
export function timedWords(parts) {
  const words = parts.flatMap((part) => part.words);
  return words.map(({ start, end, start_seconds: from, end_seconds: to }) => ({ start, end, from, to }));
}

export class LitWords extends EventTarget {
  #words = [];
  #spans = [];
  #current = -1;
  /** The last text: how many of its characters are words by now, and the node with those that are not. */
  #last = null;
  #follow;

  /** @param {HTMLElement} box that scrolls */
  constructor(box) {
    super();
    this.#follow = follower(box, { place: 1 / 3 });
    box.addEventListener("click", ({ target }) => {
      const word = this.#words[this.#spans.indexOf(target)];
      if (word) this.dispatchEvent(new CustomEvent("seek", { detail: word.from }));
    });
  }

  /** Fills elements with their texts. @param {{element: HTMLElement, points: string[], words: {start, end, from, to}[]}[]} texts in the order of the audio */
  show(texts) {
    this.#words = [];
    this.#spans = [];
    this.#current = -1;
    for (const { element, points, words } of texts) {
      const rest = new Text(points.join(""));
      element.replaceChildren(rest);
      this.#last = { points, shown: 0, rest };
      this.more(words);
    }
  }

  /** More words of the last text. The others stay as they are: a long text has thousands. @param {{start, end, from, to}[]} words */
  more(words) {
    if (words.length === 0) return;
    const { points, rest } = this.#last;
    const made = h("span"); // of dir="auto" Chromium takes thousands of children one by one in seconds
    for (const word of words) {
      const span = h("span", { class: "word" }, points.slice(word.start, word.end).join(""));
      made.append(points.slice(this.#last.shown, word.start).join(""), span);
      this.#last.shown = word.end;
      this.#words.push(word);
      this.#spans.push(span);
    }
    rest.before(made);
    rest.data = points.slice(this.#last.shown).join("");
  }

  /** @param {number} seconds of the audio @param {boolean} playing whether it is being heard */
  move(seconds, playing) {
    const index = wordAt(this.#words, seconds);
    const word = this.#words[index];
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
}
