/**
 * How late chunks arrive against the audio sent before them: the pre-roll that would have hidden it.
 *
 * With playback starting d seconds after the first chunk, chunk i is heard without a gap when
 *   arrival[i] - arrival[0] - (seconds of audio before i) <= d,
 * so the largest left-hand side is the delay that was needed. The last few utterances count.
 */
const REMEMBERED_UTTERANCES = 4;

export class JitterEstimator {
  #history = [];
  #firstArrival = null;
  #audioSeconds = 0;

  beginUtterance() {
    this.#history = [...this.#history, 0].slice(-REMEMBERED_UTTERANCES);
    this.#firstArrival = null;
    this.#audioSeconds = 0;
  }

  /** @param {number} nowSeconds arrival, any monotonic clock @param {number} chunkSeconds its audio */
  observe(nowSeconds, chunkSeconds) {
    this.#firstArrival ??= nowSeconds;
    const lateness = nowSeconds - this.#firstArrival - this.#audioSeconds;
    const current = this.#history.length - 1;
    this.#history[current] = Math.max(this.#history[current], lateness);
    this.#audioSeconds += chunkSeconds;
  }

  /** Seconds by which chunks were late, at worst, in the last utterances. */
  get seconds() {
    return Math.max(0, ...this.#history);
  }
}
