/**
 * PCM s16le as it comes off a socket, and the WAV file made of it.
 *
 * A frame may end in the middle of a sample (a proxy is free to cut a message's bytes); the odd
 * byte is carried to the next frame.
 */
/** Bytes before the samples of a WAV file of ours. */
export const HEADER_BYTES = 44;

export class PcmDecoder {
  #carry = new Uint8Array(0);

  /** @param {ArrayBuffer} bytes @returns {Int16Array} whole samples */
  push(bytes) {
    const joined = new Uint8Array(this.#carry.length + bytes.byteLength);
    joined.set(this.#carry);
    joined.set(new Uint8Array(bytes), this.#carry.length);
    const even = joined.length & ~1;
    this.#carry = joined.slice(even);
    const view = new DataView(joined.buffer, 0, even);
    return Int16Array.from({ length: even / 2 }, (_, i) => view.getInt16(i * 2, true));
  }
}

/** @param {Int16Array} samples @returns {Float32Array} in [-1, 1) */
export function toFloat(samples) {
  return Float32Array.from(samples, (sample) => sample / 32768);
}

/**
 * A mono 16-bit WAV file.
 * @param {Int16Array[]} chunks @param {number} sampleRate
 * @returns {Uint8Array}
 */
export function encodeWav(chunks, sampleRate) {
  const dataBytes = 2 * chunks.reduce((total, chunk) => total + chunk.length, 0);
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + dataBytes));
  new Uint8Array(view.buffer).set(wavHeader(dataBytes, sampleRate));
  let offset = HEADER_BYTES;
  for (const chunk of chunks) {
    for (const sample of chunk) {
      view.setInt16(offset, sample, true);
      offset += 2;
    }
  }
  return new Uint8Array(view.buffer);
}

/** What stands before the samples of such a file. @returns {Uint8Array} */
export function wavHeader(dataBytes, sampleRate) {
  const view = new DataView(new ArrayBuffer(HEADER_BYTES));
  const tag = (offset, text) => [...text].forEach((c, i) => view.setUint8(offset + i, c.charCodeAt(0)));
  tag(0, "RIFF");
  view.setUint32(4, 36 + dataBytes, true);
  tag(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true); // PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true); // bytes per frame
  view.setUint16(34, 16, true); // bits per sample
  tag(36, "data");
  view.setUint32(40, dataBytes, true);
  return new Uint8Array(view.buffer);
}

/**
 * The samples of a file that encodeWav made.
 * @param {ArrayBuffer} bytes @returns {{samples: Int16Array, sampleRate: number}}
 */
export function decodeWav(bytes) {
  const view = new DataView(bytes);
  const count = view.getUint32(40, true) >> 1;
  const samples = Int16Array.from({ length: count }, (_, i) => view.getInt16(HEADER_BYTES + 2 * i, true));
  return { samples, sampleRate: rateOf(bytes) };
}

/** @param {ArrayBuffer} bytes the head of such a file, or more @returns {number} its sample rate */
export function rateOf(bytes) {
  return new DataView(bytes).getUint32(24, true);
}
