/**
 * Samples that are kept while more come. What fills a piece goes into a Blob, which browsers keep outside the page's
 * memory and on disk where it is large: a text of 100,000 characters is two hours of speech, 320 MB.
 *
 *   const tape = new Tape();
 *   tape.append(Int16Array.of(1, 2, 3));
 *   await tape.read(1, 2);                 // Int16Array [2, 3]
 *   tape.wav(24000);                       // a file, of which nothing is copied
 */
import { wavHeader } from "./pcm.js";

/** 22 s at 24 kHz, 1 MiB. */
export const PIECE_SAMPLES = 2 ** 19;

export class Tape {
  #pieces = [];
  /** What fills no piece yet. @type {Int16Array[]} */
  #rest = [];
  #restSamples = 0;
  samples = 0;

  /** @param {Blob} pcm s16le @returns {Tape} of samples that are kept somewhere already */
  static of(pcm) {
    const tape = new Tape();
    tape.#pieces.push(pcm);
    tape.samples = pcm.size / 2;
    return tape;
  }

  /** @param {Int16Array} samples kept by reference until they fill a piece with others */
  append(samples) {
    this.#rest.push(samples);
    this.#restSamples += samples.length;
    this.samples += samples.length;
    if (this.#restSamples < PIECE_SAMPLES) return;
    this.#pieces.push(new Blob(this.#rest));
    this.#rest = [];
    this.#restSamples = 0;
  }

  /** @param {number} from @param {number} count at most so many @returns {Promise<Int16Array>} */
  async read(from, count) {
    const bytes = new Blob([...this.#pieces, ...this.#rest]).slice(2 * from, 2 * (from + count));
    return new Int16Array(await bytes.arrayBuffer());
  }

  /** @param {number} sampleRate @returns {Blob} a WAV file of what is there */
  wav(sampleRate) {
    return new Blob([wavHeader(2 * this.samples, sampleRate), ...this.#pieces, ...this.#rest], { type: "audio/wav" });
  }
}
