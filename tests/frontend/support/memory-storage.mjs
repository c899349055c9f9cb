/** What a browser stores, in memory. */
export class MemoryStorage extends Map {
  getItem(key) {
    return this.get(key) ?? null;
  }

  setItem(key, value) {
    this.set(key, value);
  }
}
