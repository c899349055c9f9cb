/**
 * Keeps a screen awake while there is something to wait for or to hear; browsers take it back when the page is hidden.
 */
export class WakeLock {
  #wanted = false;
  #lock = null;
  #locks;

  /** @param {{request: (kind: string) => Promise<EventTarget & {release: () => Promise<void>}>} | undefined} locks */
  constructor(locks = globalThis.navigator?.wakeLock) {
    this.#locks = locks;
    globalThis.document?.addEventListener("visibilitychange", () => this.#follow());
  }

  /** @param {boolean} wanted whether the screen is to stay on */
  set(wanted) {
    if (wanted === this.#wanted) return;
    this.#wanted = wanted;
    this.#follow();
  }

  async #follow() {
    if (!this.#wanted) {
      this.#lock?.release();
      this.#lock = null;
      return;
    }
    try {
      const lock = await this.#locks?.request("screen");
      if (this.#wanted) this.#lock = lock ?? null;
      else lock?.release();
    } catch {
      this.#lock = null; // a hidden page or an empty battery: the screen does as it likes
    }
  }
}
