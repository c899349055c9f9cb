/**
 * What the browser keeps for the pages: for good (`local`), and for one tab (`ofTab`).
 *
 * Some browsers refuse a page all storage, or have no room left in it. What it does not take is kept until the page is
 * left.
 */
class Kept {
  #name;
  #refused = new Map();

  /** @param {"localStorage" | "sessionStorage"} name */
  constructor(name) {
    this.#name = name;
  }

  /** @returns {string | null} */
  getItem(key) {
    if (this.#refused.has(key)) return this.#refused.get(key);
    try {
      return globalThis[this.#name].getItem(key); // naming it is refused, too
    } catch {
      return null;
    }
  }

  setItem(key, value) {
    this.#refused.delete(key);
    try {
      globalThis[this.#name].setItem(key, value);
    } catch {
      this.#refused.set(key, value);
    }
  }

  removeItem(key) {
    this.#refused.delete(key);
    try {
      globalThis[this.#name].removeItem(key);
    } catch {
      return; // where nothing may be kept, nothing is
    }
  }
}

export const local = new Kept("localStorage");
export const ofTab = new Kept("sessionStorage");

/** What a page remembers, as JSON under one key; nonsense is as good as nothing. */
export class Remembered {
  #key;
  #storage;

  constructor(key, storage = local) {
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

  save(value) {
    this.#storage.setItem(this.#key, JSON.stringify(value));
  }
}
