/**
 * Books: texts in blocks, each with a voice and takes of its own. `fleet.books` of a VoxFleet client.
 *
 *   const { blocks, title } = await fleet.books.readDocument(file);
 *   const book = await fleet.books.create({ title, blocks });
 *   await fleet.books.make(book.id);
 *   const audiobook = await fleet.books.export(book.id, "m4b");
 */
import { pathOf, withQuery } from "./forms.js";

const bookPath = (id) => pathOf("/api/books", id);
const blockPath = (id, block) => pathOf(`${bookPath(id)}/blocks`, block);
const takePath = (id, block, take) => pathOf(`${blockPath(id, block)}/takes`, take);

export class Books {
  #transport;

  /** @param {import("./transport.js").Transport} transport of a client */
  constructor(transport) {
    this.#transport = transport;
  }

  /** A file of words as blocks; nothing is kept. @param {File} file @returns {Promise<object>} title, language, blocks, warnings */
  readDocument(file) {
    const form = new FormData();
    form.append("file", file, file.name);
    return this.#transport.json("/api/documents", { method: "POST", body: form });
  }

  /** @returns {Promise<object[]>} all of them, newest first, without their blocks */
  async list() {
    const all = [];
    let before = null;
    do {
      const { books, next_before: next } = await this.#transport.json(withQuery("/api/books", { before }));
      all.push(...books);
      before = next;
    } while (before);
    return all;
  }

  /** @param {{title: string, voice?: string, language?: string, blocks: object[]}} book @returns {Promise<object>} */
  create(book) {
    return this.#transport.json("/api/books", { method: "POST", once: true, json: book });
  }

  /**
   * All of a book. `since`, the `revision` of an earlier answer: where no more than takes changed, `partial` is true
   * and the blocks of these takes are the only ones.
   * @param {{since?: string, signal?: AbortSignal}} [options] @returns {Promise<object>}
   */
  get(id, { since, ...options } = {}) {
    return this.#transport.json(withQuery(bookPath(id), { since }), options);
  }

  /** @param {{title?: string, voice?: string, language?: string}} changes */
  update(id, changes) {
    return this.#transport.json(bookPath(id), { method: "PATCH", json: changes });
  }

  async delete(id) {
    await this.#transport.request(bookPath(id), { method: "DELETE" });
  }

  /** All blocks in their order; those without an id are new. @throws {ApiError} 409 when `version` is not the present one */
  setBlocks(id, version, blocks, options = {}) {
    return this.#transport.json(`${bookPath(id)}/blocks`, { ...options, method: "PUT", json: { version, blocks } });
  }

  /** Has blocks spoken. @param {string[]} [blocks] ids; what has no take of its present words otherwise */
  make(id, blocks) {
    return this.#transport.json(`${bookPath(id)}/make`, { method: "POST", json: blocks ? { blocks } : {} });
  }

  /** Gives up what waits or is being made. */
  stop(id) {
    return this.#transport.json(`${bookPath(id)}/make`, { method: "DELETE" });
  }

  /** One more take of a block. @param {number} [seed] a new one otherwise */
  addTake(id, block, seed) {
    return this.#transport.json(`${blockPath(id, block)}/takes`, { method: "POST", json: seed === undefined ? {} : { seed } });
  }

  chooseTake(id, block, take) {
    return this.#transport.json(`${blockPath(id, block)}/take`, { method: "PUT", json: { take } });
  }

  async deleteTake(id, block, take) {
    await this.#transport.request(takePath(id, block, take), { method: "DELETE" });
  }

  /** @param {"mp3" | "wav"} format @returns {Promise<Blob>} */
  takeAudio(id, block, take, format = "mp3") {
    return this.#transport.blob(withQuery(`${takePath(id, block, take)}/audio`, { format }));
  }

  /** @returns {Promise<object>} when its words are said: {source, text, words, cues} */
  takeWords(id, block, take) {
    return this.#transport.json(`${takePath(id, block, take)}/words.json`);
  }

  /** @param {"m4b" | "mp3" | "wav" | "srt" | "vtt"} format @returns {Promise<Blob>} */
  export(id, format) {
    return this.#transport.blob(withQuery(`${bookPath(id)}/export`, { format }));
  }
}
