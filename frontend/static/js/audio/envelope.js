/**
 * The outline of a clip: the loudest sample of every 10 ms, grown as samples arrive.
 *
 * columns(n, seconds) folds it to n values for a drawing that is `seconds` wide, so the picture
 * can be redrawn at any width without touching the samples again.
 */
const BUCKET_SECONDS = 0.01;

export class Envelope {
  #peaks = [];
  #bucketSamples;
  #open = 0;
  #openCount = 0;

  /** The loudest sample so far, in [0, 1]. */
  loudest = 0;

  constructor(sampleRate) {
    this.sampleRate = sampleRate;
    this.#bucketSamples = Math.round(sampleRate * BUCKET_SECONDS);
  }

  /** Seconds of audio seen. */
  get seconds() {
    return (this.#peaks.length * this.#bucketSamples + this.#openCount) / this.sampleRate;
  }

  /** @param {Int16Array} samples */
  push(samples) {
    for (const sample of samples) {
      this.#open = Math.max(this.#open, Math.abs(sample) / 32768);
      this.#openCount += 1;
      if (this.#openCount === this.#bucketSamples) {
        this.#peaks.push(this.#open);
        this.loudest = Math.max(this.loudest, this.#open);
        this.#open = 0;
        this.#openCount = 0;
      }
    }
  }

  /**
   * @param {number} count columns of the drawing
   * @param {number} seconds audio the whole drawing stands for
   * @returns {Float32Array} peak in [0, 1] per column; NaN where nothing has arrived yet
   */
  columns(count, seconds) {
    const bucketsPerColumn = seconds / BUCKET_SECONDS / count;
    return Float32Array.from({ length: count }, (_, column) => {
      const from = Math.floor(column * bucketsPerColumn);
      const to = Math.max(from + 1, Math.floor((column + 1) * bucketsPerColumn));
      if (from >= this.#peaks.length) return NaN;
      return this.#peaks.slice(from, to).reduce((loudest, peak) => Math.max(loudest, peak), 0);
    });
  }
}
