/**
 * Whether audio comes more slowly than it is heard, so that playback must have gaps however long it waits.
 *
 * Counted from the first chunk of an utterance: what a worker did before belongs to the wait for it.
 */
export const JUDGED_AFTER_SECONDS = 1.5;
const TOLERANCE = 1.05;

export class Pace {
  #first = null;
  #audioSeconds = 0;

  slow = false;

  /** The next chunk is a first one. */
  begin() {
    this.#first = null;
    this.#audioSeconds = 0;
    this.slow = false;
  }

  /** @param {number} nowSeconds arrival, any monotonic clock @param {number} chunkSeconds its audio */
  observe(nowSeconds, chunkSeconds) {
    if (this.#first === null) {
      this.#first = nowSeconds;
      return;
    }
    this.#audioSeconds += chunkSeconds;
    const elapsed = nowSeconds - this.#first;
    if (elapsed >= JUDGED_AFTER_SECONDS) this.slow = elapsed > TOLERANCE * this.#audioSeconds;
  }
}
