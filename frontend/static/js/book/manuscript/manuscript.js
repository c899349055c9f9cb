/**
 * A book as the page has it: the blocks as they are edited, and what the service keeps of them.
 *
 * Every change is saved soon after it, one request at a time. Where another page was first, both versions are merged.
 * Blocks that were removed are kept by the service a while longer, so that undoing it brings their takes back.
 *
 * Events: "blocks" (the list changed), "kept" (takes, progress or title of the service; detail: ids of the blocks that
 * may be others now, null for all), "saving" (detail: "saved",
 * "unsaved", "saving", "failed"), "problem" (detail: the error).
 */
import { draft } from "./blocks.js";
import { merged } from "./merge.js";
import { undone } from "./undo.js";

const SAVE_MS = 800;
const REMOVED_MS = 10_000;
const MOST_MERGES = 4;
const MOST_UNDO = 50;
/** What is not answered for so long is given up: it would hold up all that is saved after it. */
const SILENT_MS = 60_000;

export class Manuscript extends EventTarget {
  #books;
  #patience;
  #base;
  #line = Promise.resolve();
  #timer = null;
  #dueAt = 0;
  #saved;
  /** The list before and after each change. */
  #past = [];
  /** The blocks of the service by id, with takes. @type {Map<string, object>} */
  kept = new Map();

  /** @param {import("../../client/books.js").Books} books @param {object} book of GET /api/books/{id} @param {{patience?: number}} [how] milliseconds */
  constructor(books, book, { patience = SILENT_MS } = {}) {
    super();
    this.#patience = patience;
    this.#books = books;
    this.#base = book.blocks;
    this.book = book;
    this.blocks = book.blocks.map(draft);
    this.#saved = this.blocks;
    this.#keep(book);
  }

  get id() {
    return this.book.id;
  }

  /** Whether the service has everything. */
  get clean() {
    return this.blocks === this.#saved;
  }

  get canUndo() {
    return this.#past.length > 0;
  }

  // ------------------------------------------------------------------------------------------------- editing

  /** Another list of blocks. @param {{undoable?: boolean, removes?: boolean}} [how] */
  change(blocks, { undoable = true, removes = false } = {}) {
    if (blocks === this.blocks) return;
    if (undoable) this.#past = [...this.#past, { before: this.blocks, after: blocks }].slice(-MOST_UNDO);
    this.blocks = blocks;
    this.#emit("blocks");
    this.#saveSoon(removes ? REMOVED_MS : SAVE_MS);
  }

  /** A text as it is typed: the field of the page undoes that itself. */
  type(key, text) {
    this.blocks = this.blocks.map((block) => (block.key === key ? { ...block, text } : block));
    this.#emit("typed", key);
    this.#saveSoon(SAVE_MS);
  }

  /** Takes the last change of the list back. What was typed since is kept. */
  undo() {
    const change = this.#past.pop();
    if (!change) return;
    const known = new Set(this.#base.map(({ id }) => id));
    this.blocks = undone(change, this.blocks).map((block) => (block.id && !known.has(block.id) ? { ...block, id: null } : block));
    this.#adopt();
    this.#emit("blocks");
    this.#dueAt = 0;
    this.#saveSoon(SAVE_MS);
  }

  /** Ids that came since belong to the blocks of before, too. */
  #adopt() {
    const ids = new Map(this.#saved.map(({ key, id }) => [key, id]));
    this.blocks = this.blocks.map((block) => (!block.id && ids.get(block.key) ? { ...block, id: ids.get(block.key) } : block));
  }

  // ------------------------------------------------------------------------------------------------- saving

  #saveSoon(milliseconds) {
    this.#dueAt = Math.max(this.#dueAt, Date.now() + milliseconds);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.save().catch(() => null), this.#dueAt - Date.now());
    this.#emit("saving", "unsaved");
  }

  /** Saves what is not saved yet. @throws {ApiError} */
  save() {
    clearTimeout(this.#timer);
    this.#dueAt = 0;
    return this.#next(() => this.#save());
  }

  /** One thing after the other: each request has the version that the one before it left. */
  #next(work) {
    const done = this.#line.then(work);
    this.#line = done.catch(() => null);
    return done;
  }

  async #save() {
    if (this.clean) return;
    this.#emit("saving", "saving");
    try {
      for (let tries = 1; !(await this.#sent(tries)); tries += 1);
    } catch (error) {
      this.#emit("saving", "failed");
      this.#emit("problem", error);
      throw error;
    }
    this.#emit("saving", this.clean ? "saved" : "unsaved");
  }

  /** @returns {Promise<boolean>} whether it is saved; otherwise the newer version was merged into this one */
  async #sent(tries) {
    const sent = this.blocks;
    const said = sent.map((block) => this.#toSend(block)).filter(Boolean);
    let book;
    try {
      book = await this.#books.setBlocks(this.id, this.book.version, said.map(({ fields }) => fields), this.#inTime());
    } catch (error) {
      if (error.status !== 409 || tries >= MOST_MERGES) throw error;
      this.#take(await this.#asked());
      return false;
    }
    const ids = new Map(said.map(({ key }, place) => [key, book.blocks[place].id]));
    const known = new Set(book.blocks.map(({ id }) => id));
    const named = (block) => {
      const id = ids.get(block.key) ?? (known.has(block.id) ? block.id : null); // of what came back meanwhile, none is known
      return id === block.id ? block : { ...block, id };
    };
    const unchanged = this.blocks === sent;
    this.blocks = this.blocks.map(named);
    this.#saved = unchanged ? this.blocks : sent.map(named);
    this.#base = book.blocks;
    this.#keep(book);
    this.#emit("kept", null);
    return true;
  }

  /** A block as the service takes it. Empty ones are not sent; one that is being emptied stays what it was. */
  #toSend({ key, id, kind, text, voice, pause_ms, pronunciations }) {
    const kept = this.kept.get(id)?.text;
    const words = text.trim() ? text : kept;
    if (!words) return null;
    return { key, fields: { ...(id ? { id } : {}), kind, text: words, voice, pause_ms, pronunciations } };
  }

  // ------------------------------------------------------------------------------------- what the service does

  /** Asks the service how far it is. @throws {ApiError} */
  refresh() {
    return this.#next(async () => this.#take(await this.#asked()));
  }

  /** Saves, and then does something that is answered with the book. @param {(books: object, id: string) => Promise<object | void>} work */
  async act(work) {
    await this.save();
    await this.#next(async () => this.#take((await work(this.#books, this.id)) ?? (await this.#asked())));
  }

  /** All of it, or what changed since the last answer. */
  #asked() {
    return this.#books.get(this.id, { since: this.book.revision, ...this.#inTime() });
  }

  #inTime() {
    return { signal: AbortSignal.timeout(this.#patience) };
  }

  /** Title, voice or language. */
  update(changes) {
    return this.act((books, id) => books.update(id, changes));
  }

  #take(book) {
    const newer = book.version !== this.book.version;
    if (newer) {
      const blocks = merged(this.#base, this.blocks, book.blocks);
      const mineToo = !this.clean;
      this.blocks = blocks;
      if (!mineToo) this.#saved = blocks;
      this.#base = book.blocks;
      this.#past = [];
    }
    this.#keep(book);
    if (newer) this.#emit("blocks");
    this.#emit("kept", book.partial ? new Set(book.blocks.map(({ id }) => id)) : null);
  }

  /** Where a part of it does not add up, the next question is for all of it. */
  #keep(book) {
    const told = book.blocks.map((block) => [block.id, block]);
    this.kept = new Map(book.partial ? [...this.kept, ...told] : told);
    const whole = !book.partial || openTakes(this.kept) === book.progress.making + book.progress.queued;
    this.book = { ...book, blocks: undefined, revision: whole ? book.revision : undefined };
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** How many takes wait or are being made. @param {Map<string, object>} kept */
function openTakes(kept) {
  return [...kept.values()].flatMap(({ takes }) => takes).filter(({ state }) => state === "making" || state === "queued").length;
}
