/**
 * A clip at another speed and the same pitch: WSOLA, waveform similarity overlap-add.
 *
 * Output is made in hops of 15 ms. Each hop fades from what would follow the last one into the place of the clip that
 * is due, moved by at most 8 ms to where the two are most alike, so that periods of the voice stay whole.
 *
 *   const stretch = new Stretch(clip, sampleRate);
 *   stretch.begin(position);
 *   const next = stretch.read(output, 128, 1.5);   // position after 128 samples of output, 192 further in the clip
 */
const HOP_SECONDS = 0.015;
const SEARCH_SECONDS = 0.008;
/** The first look compares as many samples of a second. */
const COARSE_RATE = 6000;

export class Stretch {
  #clip;
  #hop;
  #search;
  #coarse;
  #rise;
  #made;
  #expected;
  #near;
  #left = 0;
  #anchor = 0;
  #next = 0;
  #position = 0;
  #rate = 1;

  /** @param {import("./clip.js").Clip} clip @param {number} sampleRate */
  constructor(clip, sampleRate) {
    this.#clip = clip;
    this.#hop = Math.round(HOP_SECONDS * sampleRate);
    this.#search = Math.round(SEARCH_SECONDS * sampleRate);
    this.#coarse = Math.max(1, Math.round(sampleRate / COARSE_RATE));
    this.#rise = Float32Array.from({ length: this.#hop }, (_, i) => 0.5 - 0.5 * Math.cos((Math.PI * (i + 0.5)) / this.#hop));
    this.#made = new Float32Array(this.#hop);
    this.#expected = new Float32Array(this.#hop);
    this.#near = new Float32Array(this.#hop + 2 * this.#search);
  }

  /** Samples beyond the position that a read may look at, for rates of 0.5 and above. What the clip lacks is silence. */
  get lookahead() {
    return 2 * this.#hop + this.#search;
  }

  /** The next read continues what was heard up to `position` of the clip. */
  begin(position) {
    this.#anchor = this.#next = this.#position = position;
    this.#left = 0;
  }

  /** Fills the front of `output`. @returns {number} the position in the clip after it, a fraction */
  read(output, count, rate) {
    for (let filled = 0; filled < count; ) {
      if (this.#left === 0) this.#makeHop(rate);
      const taken = Math.min(this.#left, count - filled);
      const start = this.#hop - this.#left;
      output.set(this.#made.subarray(start, start + taken), filled);
      filled += taken;
      this.#left -= taken;
      this.#position += taken * this.#rate;
    }
    return this.#position;
  }

  #makeHop(rate) {
    const hop = this.#hop;
    const from = Math.round(this.#next) - this.#search;
    this.#copy(this.#anchor, this.#expected);
    this.#copy(from, this.#near);
    const offset = this.#mostAlike();
    for (let i = 0; i < hop; i += 1) {
      this.#made[i] = this.#expected[i] + (this.#near[offset + i] - this.#expected[i]) * this.#rise[i];
    }
    this.#anchor = from + offset + hop;
    this.#next += rate * hop;
    this.#rate = rate;
    this.#left = hop;
  }

  /** Samples of the clip from a place on; what it does not hold is silence. */
  #copy(from, into) {
    const start = Math.max(this.#clip.first, Math.round(from));
    const skipped = Math.min(into.length, start - Math.round(from));
    const count = Math.max(0, Math.min(into.length - skipped, this.#clip.length - start));
    into.fill(0);
    if (count > 0) this.#clip.read(start, into.subarray(skipped), count);
  }

  /** Where in what is near the expected samples are found best: a coarse look, then a fine one around it. */
  #mostAlike() {
    const last = 2 * this.#search;
    const coarse = this.#best(0, last, this.#coarse, this.#coarse, this.#search);
    return this.#best(Math.max(0, coarse - this.#coarse), Math.min(last, coarse + this.#coarse), 1, 2, coarse);
  }

  /** Among offsets from `first` to `last`; `fallback` where all is silent. */
  #best(first, last, step, skip, fallback) {
    let best = fallback;
    let bestLikeness = 0;
    for (let offset = first; offset <= last; offset += step) {
      let product = 0;
      let energy = 1e-9;
      for (let i = 0; i < this.#hop; i += skip) {
        const sample = this.#near[offset + i];
        product += sample * this.#expected[i];
        energy += sample * sample;
      }
      const likeness = product / Math.sqrt(energy);
      if (likeness > bestLikeness) {
        bestLikeness = likeness;
        best = offset;
      }
    }
    return best;
  }
}
