/**
 * What of a clip has come, and the words that make a gateway speak the rest.
 *
 * With `resume: true` the gateway seals the clip so far into a token that grows piece by piece, and loses those
 * of a part of the text that is complete; any gateway of the service goes on from it. Audio that comes a second time (after the token's last piece) is dropped here.
 */
const SAMPLE_BYTES = 2;
const TOKEN_PART = 60_000;

export class ClipProgress {
  #request;
  #token = "";
  #samples = 0;
  #repeatedBytes = 0;

  /** @param {object} request body of POST /tts, with `resume` when a break is to be bridged */
  constructor(request) {
    this.resumable = Boolean(request.resume);
    // The same words with another seed would be another clip.
    const seed = this.resumable ? { seed: Math.floor(Math.random() * 2 ** 32) } : {};
    this.#request = { ...seed, ...request, format: "pcm" };
  }

  /** Whether audio was heard. */
  get begun() {
    return this.#samples > 0;
  }

  /** The messages to open a connection with, in order. */
  opening() {
    this.#repeatedBytes = SAMPLE_BYTES * this.#samples;
    if (!this.#token) return [this.#request];
    const parts = [];
    for (let start = 0; start < this.#token.length; start += TOKEN_PART) {
      const end = start + TOKEN_PART;
      parts.push({ resume_token: this.#token.slice(start, end), more: end < this.#token.length });
    }
    return parts;
  }

  /** The next piece of the token came; of those before it, so many characters are still needed. */
  seal({ token, keep }) {
    this.#token = this.#token.slice(0, keep) + token;
  }

  /** A worker took the clip, at the sample that it was resumed at. */
  start({ resumed_at_sample: resumedAt = 0 }) {
    this.#repeatedBytes -= SAMPLE_BYTES * resumedAt;
  }

  /** @param {ArrayBuffer} pcm @returns {ArrayBuffer | null} what of it is new */
  receive(pcm) {
    const repeated = Math.min(this.#repeatedBytes, pcm.byteLength);
    this.#repeatedBytes -= repeated;
    this.#samples += (pcm.byteLength - repeated) / SAMPLE_BYTES;
    if (repeated === pcm.byteLength) return null;
    return repeated ? pcm.slice(repeated) : pcm;
  }
}
