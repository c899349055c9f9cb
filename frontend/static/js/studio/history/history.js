/**
 * The history section: keeps what was made, brings it back to the stage, and compares two clips.
 *
 * Events: "replay" (detail: {utterance, outcome, fraction}), "restore" (detail: request), "download" (detail:
 * utterance), "said" (detail: a function that tells what happened).
 */
import { byId } from "../../shared/page/dom.js";
import { setLabel, setMessage, t } from "../../i18n/i18n.js";
import { tabs } from "../../shared/hearing/tabs.js";
import { UndoBar } from "../../shared/notices/undo-bar.js";
import { ClipStore } from "./clip-store.js";
import { Comparison, SIDES } from "./compare.js";
import { exportClips, titleOf } from "./download.js";
import { HistoryList } from "./history-list.js";
import { Utterance } from "../utterance.js";

export class History extends EventTarget {
  #store = new ClipStore();
  #list = new HistoryList();
  #comparison = new Comparison();
  #undo = new UndoBar(byId("history-undo"));
  #shown = undefined;
  #beside = null;
  #asked = 0;
  #position;

  /** @param {() => number} position the play head's place on the stage, in [0, 1] */
  constructor(position) {
    super();
    this.#position = position;
    const on = (type, action) => this.#list.addEventListener(type, ({ detail }) => action(detail));
    on("replay", (entry) => this.#replay(entry));
    on("restore", (entry) => this.#emit("restore", entry.request));
    on("download", async (entry) => this.#emit("download", await Utterance.kept(entry)));
    on("compare", ({ side, entry }) => this.#choose(side, entry));
    on("star", (entry) => this.#change(entry, { starred: !entry.starred }));
    on("rename", ({ entry, name }) => this.#change(entry, { name }));
    on("export", (entries) => this.#export(entries));
    on("delete", (entry) => this.#delete(entry));
    on("clear", () => this.#clear());
    tabs.addEventListener("clips", () => this.load());
    byId("compare-switch").addEventListener("click", () => this.switchSides());
    for (const side of SIDES) byId(`compare-${side}`).addEventListener("click", () => this.#hear(side));
  }

  /** Shows what is kept. */
  async load() {
    const entries = await this.#store.all();
    this.#comparison.keep(new Set(entries.map(({ id }) => id)));
    this.#list.show(entries);
    this.#mark();
    return entries;
  }

  /**
   * Keeps a finished utterance. @param {Utterance} utterance @param {object} outcome @param {string} voiceName
   * @returns {Promise<number | undefined>} id of its entry, where it could be kept
   */
  async keep(utterance, outcome, voiceName) {
    if (utterance.samples === 0) return undefined;
    const figures = { ...outcome, audio_seconds: utterance.audioSeconds, voice_name: voiceName };
    figures.first_audio_heard = utterance.firstAudioSeconds;
    const kept = await this.#store.add({ request: utterance.request, figures, wav: utterance.wav(), times: utterance.subtitles.parts });
    const [newest] = await this.load();
    if (kept) this.#put(newest);
    return kept ? newest.id : undefined;
  }

  /** Id of the entry that is on the stage. @type {number | undefined} */
  get shown() {
    return this.#shown;
  }

  /** A new clip goes beside the one that it was made to be compared with. */
  #put(newest) {
    const former = this.#list.entry(this.#beside);
    this.#beside = null;
    if (!former || former.id === newest.id) return;
    this.#comparison.set({ A: former, B: newest });
    this.#mark();
  }

  /** A clip is being made: what was pressed before comes to the stage no more. @param {number} [beside] see `shows` */
  makes(beside) {
    this.#asked += 1;
    this.shows(undefined, beside);
  }

  /**
   * Another clip is on the stage: an entry's, or one that is not kept yet.
   * @param {number} id @param {number} beside entry that it is compared with once it is kept
   */
  shows(id, beside = null) {
    this.#shown = id;
    this.#beside = beside;
    this.#comparison.heard(id);
    this.#mark();
  }

  /** The other clip, from the same relative position. */
  switchSides() {
    if (this.#comparison.ready) this.#hear(this.#comparison.other);
  }

  #choose(side, entry) {
    this.#comparison.choose(side, entry);
    this.#comparison.heard(this.#shown);
    this.#mark();
  }

  #hear(side) {
    const fraction = this.#comparison.side ? this.#position() : 0;
    this.#replay(this.#comparison.entry(side), fraction >= 1 ? 0 : fraction);
    this.#say(() => t("history.pressed", { side }));
  }

  async #replay(entry, fraction = 0) {
    const asked = (this.#asked += 1);
    const utterance = await Utterance.kept(entry);
    if (asked !== this.#asked) return; // another was pressed, or asked for
    this.#emit("replay", { utterance, outcome: entry.figures, fraction });
    this.shows(entry.id);
  }

  async #change(entry, changes) {
    await this.#store.change(entry, changes);
    await this.load();
    this.#list.focus(entry.id, "name" in changes ? "rename" : "star");
  }

  async #export(entries) {
    await exportClips(entries);
    this.#say(() => t("history.exported", { count: entries.length }));
  }

  async #delete(entry) {
    await this.#remove([entry], "history.deleted", { text: titleOf(entry) });
  }

  /** All without a star. */
  async #clear() {
    const entries = (await this.#store.all()).filter(({ starred }) => !starred);
    await this.#remove(entries, "history.cleared", { count: entries.length });
  }

  async #remove(entries, key, values) {
    await this.#store.remove(...entries.map(({ id }) => id));
    await this.load();
    this.#undo.offer(key, values, async () => {
      await this.#store.restore(entries);
      await this.load();
      byId("history").focus();
      this.#say(() => t("history.restored"));
    });
  }

  #mark() {
    const sides = Object.fromEntries(SIDES.map((side) => [side, this.#comparison.entry(side)?.id]));
    this.#list.mark({ shown: this.#shown, ...sides });
    const { ready, side, other } = this.#comparison;
    byId("compare").hidden = !ready;
    if (!ready) return;
    for (const each of SIDES) {
      const text = titleOf(this.#comparison.entry(each));
      setMessage(byId(`compare-${each}-text`), "text.plain", { text });
      byId(`compare-${each}`).setAttribute("aria-pressed", String(side === each));
      setLabel(byId(`compare-${each}`), "compare.hear", { side: each, text });
    }
    setMessage(byId("compare-switch-words"), "compare.switch", { side: other });
  }

  #say(words) {
    this.#emit("said", words);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
