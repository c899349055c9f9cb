/**
 * A clip that grows while it is being made: a list of sample chunks, read as if it were one array.
 *
 * Chunks are kept as they came, so appending never copies what is already there: the audio thread
 * appends and reads without a pause, however long the clip gets. What is not needed any more can be forgotten.
 *
 *   const clip = new Clip();
 *   clip.append(new Float32Array([0.1, 0.2]));
 *   clip.append(new Float32Array([0.3]));
 *   clip.read(1, output, 2);               // output = [0.2, 0.3]
 */
export class Clip {
  #chunks = [];
  #starts = [];
  #cursor = 0;

  /** Samples in the clip so far, those before its first included. */
  length;

  /** @param {number} from the sample that is appended first */
  constructor(from = 0) {
    this.length = from;
  }

  /** The first sample that can be read. */
  get first() {
    return this.#starts[0] ?? this.length;
  }

  /** @param {Float32Array} samples kept by reference */
  append(samples) {
    if (samples.length === 0) return;
    this.#starts.push(this.length);
    this.#chunks.push(samples);
    this.length += samples.length;
  }

  /** Lets go of chunks that end before a position. */
  forget(position) {
    const end = (index) => this.#starts[index] + this.#chunks[index].length;
    let count = 0;
    while (count < this.#chunks.length && end(count) <= position) count += 1;
    if (count === 0) return;
    this.#chunks.splice(0, count);
    this.#starts.splice(0, count);
    this.#cursor = Math.max(0, this.#cursor - count);
  }

  /**
   * Copies samples [position, position + count) to the front of output.
   * @throws {RangeError} when the clip does not hold them
   */
  read(position, output, count) {
    if (position < this.first || position + count > this.length) {
      throw new RangeError(`samples ${position}..${position + count} of ${this.length}`);
    }
    let filled = 0;
    let index = count > 0 ? this.#find(position) : 0;
    while (filled < count) {
      const chunk = this.#chunks[index];
      const offset = position + filled - this.#starts[index];
      const taken = Math.min(chunk.length - offset, count - filled);
      output.set(chunk.subarray(offset, offset + taken), filled);
      filled += taken;
      if (filled < count) index += 1;
    }
    this.#cursor = index;
  }

  /** Index of the chunk that holds a sample; playback moves forward, so the last one is tried first. */
  #find(position) {
    const holds = (index) =>
      this.#starts[index] <= position && position < this.#starts[index] + this.#chunks[index].length;
    for (const index of [this.#cursor, this.#cursor + 1]) {
      if (index < this.#chunks.length && holds(index)) return index;
    }
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#starts[middle] <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
