/**
 * The script as words that light up: waiting ones dim, heard ones bright, the present one marked, dropped ones struck
 * through. Words are elements of their own; text is always text.
 */
import { follower } from "../shared/hearing/follower.js";
import { h } from "../shared/page/dom.js";
import { setMessage } from "./words.js";

const WORD = /[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+/gu;

/** Words of a text as [first, last) code points, counted from `offset`. */
export function wordsOf(text, offset = 0) {
  const words = [];
  let points = offset;
  let at = 0;
  for (const match of text.matchAll(WORD)) {
    points += [...text.slice(at, match.index)].length;
    const length = [...match[0]].length;
    words.push([points, points + length, match[0]]);
    points += length;
    at = match.index + match[0].length;
  }
  return words;
}

export class ScriptView {
  #box;
  #script;
  #words = [];
  #tail = 0;
  #current = null;
  #brightTo = 0;
  #follow;
  #text = paragraph();

  /** @param {HTMLElement} box that scrolls */
  constructor(box) {
    this.#box = box;
    this.#follow = follower(box, { place: 1 / 2, keys: true });
  }

  /** @param {import("./script.js").Script} script a new, empty one @param {{after?: boolean}} [place] behind what is there */
  begin(script, { after = false } = {}) {
    this.#script = script;
    this.#words = [];
    this.#tail = this.#brightTo = 0;
    this.#current = null;
    this.#text = paragraph();
    if (!after) this.#box.replaceChildren();
    this.#box.append(this.#text);
  }

  /** What was heard or dropped, as TranscriptMemory keeps it. */
  get paragraphs() {
    return [...this.#box.querySelectorAll(".script-text")].map(runsOf).filter((runs) => runs.length > 0);
  }

  /** Shows what was kept. @param {[string, string][][]} paragraphs */
  restore(paragraphs) {
    this.#box.replaceChildren(...paragraphs.map((runs) => paragraph(runs.map(shownRun))));
    this.#box.scrollTop = this.#box.scrollHeight;
  }

  /** More was appended: the last word may have grown. */
  grown() {
    const last = this.#words.at(-1);
    if (last && last.end === this.#tail && !this.#script.isDropped(last.start)) {
      this.#tail = last.start;
      last.element.remove();
      this.#words.pop();
      this.#brightTo = Math.min(this.#brightTo, this.#words.length);
    }
    const added = this.#script.text(this.#tail, this.#script.length);
    let shown = this.#tail;
    for (const [start, end, word] of wordsOf(added, this.#tail)) {
      const element = h("span", { class: "word" }, word);
      this.#text.append(this.#script.text(shown, start), element);
      this.#words.push({ start, end, element });
      shown = end;
    }
    this.#text.append(this.#script.text(shown, this.#script.length));
    this.#tail = this.#script.length;
  }

  /** @param {number} character that is heard now; all before it were */
  show(character) {
    while (this.#brightTo < this.#words.length && this.#words[this.#brightTo].end <= character) {
      this.#words[this.#brightTo].element.classList.add("heard");
      this.#brightTo += 1;
    }
    const word = this.#words[this.#brightTo];
    const speaking = word && word.start < character ? word : null;
    if (speaking === this.#current) return;
    this.#current?.element.classList.remove("now");
    this.#current = speaking;
    if (!speaking) return;
    speaking.element.classList.add("now");
    this.#follow(speaking.element);
  }

  /** A barge-in: what it dropped is struck through; what comes next begins a paragraph. */
  cut() {
    this.#current?.element.classList.remove("now");
    this.#current = null;
    for (const { start, element } of this.#words.slice(this.#brightTo)) {
      element.classList.add(this.#script.isDropped(start) ? "dropped" : "heard");
    }
    this.#brightTo = this.#words.length;
    this.#text.append(setMessage(h("span", { class: "cut" }), "live.cut"));
    this.#text = paragraph();
    this.#box.append(this.#text);
  }
}

function paragraph(children = []) {
  return h("p", { class: "script-text", dir: "auto" }, children);
}

/** A paragraph as runs [text, kind], up to the first word that nobody has heard. */
function runsOf(element) {
  const runs = [];
  for (const node of element.childNodes) {
    const kind = ["heard", "dropped", "cut"].find((name) => node.classList?.contains(name)) ?? (node.classList ? "waiting" : "text");
    if (kind === "waiting") break;
    runs.push([node.textContent, kind]);
  }
  return runs;
}

function shownRun([text, kind]) {
  if (kind === "text") return text;
  return kind === "cut" ? setMessage(h("span", { class: "cut" }), "live.cut") : h("span", { class: `word ${kind}` }, text);
}
