/**
 * The recordings that are to be sent: each with what is said in it, to hear, to put right and to take away.
 *
 * Event "change": there are others, or other words.
 */
import { h, icon } from "../shared/page/dom.js";
import { decimal } from "../i18n/format.js";
import { Hearing } from "../shared/hearing/hearing.js";
import { recordingProblem, setLabel, setMessage } from "./words.js";

const MOST_CHARACTERS = 2000;
const NAME_CHARACTERS = 80;

export class Entries extends EventTarget {
  #list;
  /** By the number of each. @type {Map<string, object>} */
  #entries = new Map();
  #count = 0;
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
    for (const { audio, name, transcript, seconds = null } of recordings) {
      const id = String((this.#count += 1));
      const entry = { id, audio, name: name.slice(-NAME_CHARACTERS), transcript, seconds, sent: null };
      this.#entries.set(id, entry);
      this.#list.append(this.#row(entry));
      if (seconds === null) this.#measure(entry);
    }
    this.#changed();
  }

  /** Takes those away that were sent: they are somebody else's now. */
  clearSent() {
    for (const entry of this.all.filter(({ sent }) => sent)) {
      this.#rowOf(entry).remove();
      this.#entries.delete(entry.id);
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
    return this.#list.querySelector(`[data-entry="${id}"]`);
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
    this.#entries.delete(entry.id);
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

  /** Its length, where this browser can play it. */
  #measure(entry) {
    const url = URL.createObjectURL(entry.audio);
    const audio = new Audio();
    audio.preload = "metadata";
    const done = () => URL.revokeObjectURL(url);
    audio.addEventListener("error", done);
    audio.addEventListener("loadedmetadata", () => {
      done();
      if (!Number.isFinite(audio.duration) || !this.#entries.has(entry.id)) return;
      entry.seconds = audio.duration;
      this.#showLength(entry);
      this.#changed();
    });
    audio.src = url;
  }

  #showLength(entry) {
    setMessage(this.#rowOf(entry).querySelector(".train-entry-length"), "train.seconds", { seconds: () => decimal(entry.seconds, 1) });
  }

  #changed() {
    for (const entry of this.all) if (entry.seconds !== null) this.#showLength(entry);
    this.dispatchEvent(new Event("change"));
  }
}
