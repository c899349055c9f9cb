/**
 * What a page remembers in the browser, as JSON under one key; a storage that is full, disabled or
 * holds nonsense is as good as an empty one.
 */
export class Remembered {
  #key;
  #storage;

  constructor(key, storage = globalThis.localStorage) {
    this.#key = `voxfleet.${key}`;
    this.#storage = storage;
  }

  /** @returns {object} what was saved, or {} */
  load() {
    try {
      const value = JSON.parse(this.#storage.getItem(this.#key));
      return value !== null && typeof value === "object" ? value : {};
    } catch {
      return {};
    }
  }

  /** @returns {boolean} whether it could be kept */
  save(value) {
    try {
      this.#storage.setItem(this.#key, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  }
}
