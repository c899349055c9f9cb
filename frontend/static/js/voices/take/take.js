/**
 * A recording of one's voice: its samples, and the part of them that is kept.
 */
import { encodeWav } from "../../audio/pcm.js";

export const LEAST_SECONDS = 2;
export const LONGEST_SECONDS = 30;

/** The loudest sample of a block, in [0, 1]. @param {Float32Array} samples */
export function peakOf(samples) {
  return samples.reduce((loudest, sample) => Math.max(loudest, Math.abs(sample)), 0);
}

export class Take {
  /** Seconds from the start that are left out, and seconds up to which it is kept. */
  from = 0;
  to;

  /** @param {Float32Array[]} blocks in [-1, 1] @param {number} sampleRate */
  constructor(blocks, sampleRate) {
    this.sampleRate = sampleRate;
    this.samples = new Float32Array(blocks.reduce((total, block) => total + block.length, 0));
    let filled = 0;
    for (const block of blocks) {
      this.samples.set(block, filled);
      filled += block.length;
    }
    this.to = this.seconds;
  }

  get seconds() {
    return this.samples.length / this.sampleRate;
  }

  /** Whether a part is left out. */
  get trimmed() {
    return this.from > 0 || this.to < this.seconds;
  }

  /** Keeps [from, to) seconds. */
  trim(from, to) {
    this.from = Math.max(0, from);
    this.to = Math.min(this.seconds, to);
  }

  /** The samples that are kept. */
  get kept() {
    return this.samples.subarray(Math.round(this.from * this.sampleRate), Math.round(this.to * this.sampleRate));
  }

  /** Peaks for a drawing. @returns {Float32Array} in [0, 1], one per column */
  columns(count) {
    const size = this.samples.length / count;
    const column = (i) => peakOf(this.samples.subarray(Math.floor(i * size), Math.floor((i + 1) * size)));
    return Float32Array.from({ length: count }, (_, i) => column(i));
  }

  /** @returns {Blob} what is kept, as a WAV file */
  wav() {
    const whole = Int16Array.from(this.kept, (sample) => Math.round(Math.max(-1, Math.min(1, sample)) * 32767));
    return new Blob([encodeWav([whole], this.sampleRate)], { type: "audio/wav" });
  }
}
