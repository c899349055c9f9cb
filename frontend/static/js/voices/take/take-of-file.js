/**
 * A file that somebody chose as a take, so that it can be heard and trimmed before it is sent.
 */
import { Take } from "./take.js";

const DECODED_RATE = 48_000;
/** Larger ones would fill the memory, and the service takes no such file. */
const MOST_BYTES = 64 * 2 ** 20;

/** @param {File} file @returns {Promise<Take>} @throws when this browser cannot decode it */
export async function takeOfFile(file) {
  if (file.size > MOST_BYTES) throw new Error("the file is too large");
  const context = new OfflineAudioContext(1, 1, DECODED_RATE);
  const audio = await context.decodeAudioData(await file.arrayBuffer());
  return new Take([mono(Array.from({ length: audio.numberOfChannels }, (_, channel) => audio.getChannelData(channel)))], audio.sampleRate);
}

/** @param {Float32Array[]} channels @returns {Float32Array} their mean */
export function mono(channels) {
  if (channels.length === 1) return channels[0];
  return channels[0].map((_, i) => channels.reduce((sum, channel) => sum + channel[i], 0) / channels.length);
}
