/**
 * The recordings that are to be sent: each with what is said in it, to hear, to put right and to take away.
 *
 * Event "change": there are others, or other words.
 */
import { h, icon } from "../shared/page/dom.js";
import { decimal } from "../i18n/format.js";
import { Hearing } from "../shared/hearing/hearing.js";
import { lengthOf } from "./length.js";
import { recordingProblem, setLabel, setMessage } from "./words.js";

const MOST_CHARACTERS = 2000;
const NAME_CHARACTERS = 80;
/** So many are measured at once: browsers have few players. */
const MOST_MEASURED = 8;

export class Entries extends EventTarget {
  #list;
  /** By the number of each. @type {Map<string, object>} */
  #entries = new Map();
  /** Their elements, by the same number. @type {Map<string, HTMLElement>} */
  #rows = new Map();
  #count = 0;
  /** What is still to be measured, and how many are. @type {object[]} */
  #unmeasured = [];
  #measuring = 0;
  #hearing = new Hearing((id) => this.#entries.get(id).audio);

  /** @param {HTMLElement} list an <ol> */
  constructor(list) {
    super();
    this.#list = list;
  }

  get all() {
    return [...this.#entries.values()];
  }

  /** Seconds of all whose length this browser could tell. */
  get seconds() {
    return this.all.reduce((total, { seconds }) => total + (seconds ?? 0), 0);
  }

  /** Whether the length of each is known. */
  get measured() {
    return this.all.every(({ seconds }) => seconds !== null);
  }

  /** @param {{audio: Blob, name: string, transcript: string, seconds?: number}[]} recordings */
  add(recordings) {
    this.#list.append(...recordings.map((recording) => this.#begin(recording)));
    this.#changed();
    this.#measure();
  }

  #begin({ audio, name, transcript, seconds = null }) {
    const id = String((this.#count += 1));
    const entry = { id, audio, name: name.slice(-NAME_CHARACTERS), transcript, seconds, sent: null };
    const row = this.#row(entry);
    this.#entries.set(id, entry);
    this.#rows.set(id, row);
    if (seconds === null) this.#unmeasured.push(entry);
    else this.#showLength(entry);
    return row;
  }

  /** Takes those away that were sent: they are somebody else's now. */
  clearSent() {
    for (const entry of this.all.filter(({ sent }) => sent)) {
      this.#rowOf(entry).remove();
      this.#delete(entry);
    }
    this.#hearing.keep([...this.#entries.keys()]);
    this.#changed();
  }

  /** Whether an entry is still to be sent. */
  holds({ id }) {
    return this.#entries.has(id);
  }

  /** The first without words; null when all have some. */
  get wordless() {
    return this.all.find(({ transcript }) => !transcript.trim()) ?? null;
  }

  /** Says what is wrong with one, or that nothing is. @param {{message: string, code?: string} | null} error */
  say(entry, error) {
    const row = this.#rowOf(entry);
    const text = () => (error ? recordingProblem(error) : "");
    setMessage(row.querySelector(".train-entry-said"), "text.plain", { text });
    row.dataset.state = error ? "refused" : entry.sent ? "sent" : "new";
    row.querySelector("textarea").toggleAttribute("aria-invalid", Boolean(error) && error.param === "transcript");
  }

  /** @param {object} entry whose words are to be written */
  focus(entry) {
    this.#rowOf(entry).querySelector("textarea").focus();
  }

  #rowOf({ id }) {
    return this.#rows.get(id);
  }

  #delete({ id }) {
    this.#entries.delete(id);
    this.#rows.delete(id);
  }

  #row(entry) {
    const { id, name } = entry;
    const play = h("button", { class: "button-icon", type: "button" }, icon("play"));
    const remove = h("button", { class: "button-icon", type: "button", onclick: () => this.#remove(entry) }, icon("trash"));
    const words = h("textarea", { class: "input", dir: "auto", rows: 2, maxlength: MOST_CHARACTERS, "data-i18n-placeholder": "train.wordsHint" });
    setLabel(play, "train.hear", { name });
    setLabel(remove, "train.leaveOut", { name });
    setLabel(words, "train.wordsOf", { name });
    words.value = entry.transcript;
    words.addEventListener("input", () => this.#rewrite(entry, words.value));
    return h(
      "li",
      { class: "train-entry", "data-entry": id, "data-state": "new" },
      this.#hearing.attach(play, id),
      h("div", { class: "train-entry-name" }, h("span", { dir: "auto" }, name), h("span", { class: "quiet train-entry-length" })),
      words,
      remove,
      h("p", { class: "train-entry-said", role: "status" }),
    );
  }

  #rewrite(entry, transcript) {
    entry.transcript = transcript;
    this.#unsend(entry);
    this.say(entry, null);
    this.#changed();
  }

  #remove(entry) {
    const row = this.#rowOf(entry);
    const next = row.nextElementSibling ?? row.previousElementSibling;
    this.#delete(entry);
    this.#hearing.keep([...this.#entries.keys()]);
    row.remove();
    next?.querySelector("textarea").focus();
    this.#unsend(entry);
    this.#changed();
  }

  /** What the service has of it is of no use any more. */
  #unsend(entry) {
    if (entry.sent) this.dispatchEvent(new CustomEvent("unsent", { detail: entry.sent }));
    entry.sent = null;
  }

  /** Lengths, a few at a time. */
  #measure() {
    while (this.#measuring < MOST_MEASURED && this.#unmeasured.length > 0) {
      this.#measuring += 1;
      const entry = this.#unmeasured.shift();
      lengthOf(entry.audio).then((seconds) => {
        this.#measuring -= 1;
        this.#measure();
        if (seconds === null || !this.#entries.has(entry.id)) return;
        entry.seconds = seconds;
        this.#showLength(entry);
        this.#changed();
      });
    }
  }

  #showLength(entry) {
    setMessage(this.#rowOf(entry).querySelector(".train-entry-length"), "train.seconds", { seconds: () => decimal(entry.seconds, 1) });
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}
