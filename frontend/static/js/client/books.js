/**
 * Books: texts in blocks, each with a voice and takes of its own. `fleet.books` of a VoxFleet client.
 *
 *   const { blocks, title } = await fleet.books.readDocument(file);
 *   const book = await fleet.books.create({ title, blocks });
 *   await fleet.books.make(book.id);
 *   const audiobook = await fleet.books.export(book.id, "m4b");
 */
const bookPath = (id) => `/api/books/${encodeURIComponent(id)}`;
const blockPath = (id, block) => `${bookPath(id)}/blocks/${encodeURIComponent(block)}`;
const takePath = (id, block, take) => `${blockPath(id, block)}/takes/${encodeURIComponent(take)}`;

export class Books {
  #request;

  /** @param {(path: string, options?: object) => Promise<Response>} request of a client */
  constructor(request) {
    this.#request = request;
  }

  async #json(path, options) {
    return (await this.#request(path, options)).json();
  }

  async #blob(path) {
    return (await this.#request(path)).blob();
  }

  /** A file of words as blocks; nothing is kept. @param {File} file @returns {Promise<object>} title, language, blocks, warnings */
  readDocument(file) {
    const form = new FormData();
    form.append("file", file, file.name);
    return this.#json("/api/documents", { method: "POST", body: form });
  }

  /** @returns {Promise<object[]>} all of them, newest first, without their blocks */
  async list() {
    const all = [];
    let before = null;
    do {
      const query = before ? `?before=${encodeURIComponent(before)}` : "";
      const { books, next_before: next } = await this.#json(`/api/books${query}`);
      all.push(...books);
      before = next;
    } while (before);
    return all;
  }

  /** @param {{title: string, voice?: string, language?: string, blocks: object[]}} book @returns {Promise<object>} */
  create(book) {
    return this.#json("/api/books", { method: "POST", once: true, json: book });
  }

  get(id, options = {}) {
    return this.#json(bookPath(id), options);
  }

  /** @param {{title?: string, voice?: string, language?: string}} changes */
  update(id, changes) {
    return this.#json(bookPath(id), { method: "PATCH", json: changes });
  }

  async delete(id) {
    await this.#request(bookPath(id), { method: "DELETE" });
  }

  /** All blocks in their order; those without an id are new. @throws {ApiError} 409 when `version` is not the present one */
  setBlocks(id, version, blocks, options = {}) {
    return this.#json(`${bookPath(id)}/blocks`, { ...options, method: "PUT", json: { version, blocks } });
  }

  /** Has blocks spoken. @param {string[]} [blocks] ids; what has no take of its present words otherwise */
  make(id, blocks) {
    return this.#json(`${bookPath(id)}/make`, { method: "POST", json: blocks ? { blocks } : {} });
  }

  /** Gives up what waits or is being made. */
  stop(id) {
    return this.#json(`${bookPath(id)}/make`, { method: "DELETE" });
  }

  /** One more take of a block. @param {number} [seed] a new one otherwise */
  addTake(id, block, seed) {
    return this.#json(`${blockPath(id, block)}/takes`, { method: "POST", json: seed === undefined ? {} : { seed } });
  }

  chooseTake(id, block, take) {
    return this.#json(`${blockPath(id, block)}/take`, { method: "PUT", json: { take } });
  }

  async deleteTake(id, block, take) {
    await this.#request(takePath(id, block, take), { method: "DELETE" });
  }

  /** @param {"mp3" | "wav"} format @returns {Promise<Blob>} */
  takeAudio(id, block, take, format = "mp3") {
    return this.#blob(`${takePath(id, block, take)}/audio?format=${format}`);
  }

  /** @returns {Promise<object>} when its words are said: {source, text, words, cues} */
  takeWords(id, block, take) {
    return this.#json(`${takePath(id, block, take)}/words.json`);
  }

  /** @param {"m4b" | "mp3" | "wav" | "srt" | "vtt"} format @returns {Promise<Blob>} */
  export(id, format) {
    return this.#blob(`${bookPath(id)}/export?format=${encodeURIComponent(format)}`);
  }
}
