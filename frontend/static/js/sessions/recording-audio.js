/**
 * The audio of a recording, as the page plays it: short ones are fetched whole, which gives their outline too; long
 * ones stream from the server as they are listened to.
 */
import { Envelope } from "../audio/envelope.js";
import { apiKey, fleet } from "../shared/service/fleet.js";

const DATA = 0x64617461; // "data"
const FETCHED_SECONDS = 900;

/** Where an audio element finds a recording of one's own. @param {object} session @throws {ApiError} */
export async function audioAddress({ id }) {
  if (!apiKey()) return `/api/sessions/${encodeURIComponent(id)}/audio`;
  return URL.createObjectURL(await fleet.sessionAudio(id)); // an element of the page can not send a key
}

/**
 * @param {object} session of GET /api/sessions/{id} @param {{key?: string}} share
 * @returns {Promise<{url: string, envelope: Envelope | null}>} @throws {ApiError}
 */
export async function openAudio({ id, audio_seconds: seconds, sample_rate: rate }, share) {
  // An element of the page can not send a key: then the audio has to be fetched, however long it is.
  if (seconds > FETCHED_SECONDS && !apiKey()) {
    const query = share.key ? `?key=${encodeURIComponent(share.key)}` : "";
    return { url: `/api/sessions/${encodeURIComponent(id)}/audio${query}`, envelope: null };
  }
  const blob = await fleet.sessionAudio(id, share);
  const envelope = new Envelope(rate);
  envelope.push(samplesOf(await blob.arrayBuffer()));
  return { url: URL.createObjectURL(blob), envelope };
}

/** @param {ArrayBuffer} wav s16le mono, maybe cut off @returns {Int16Array} */
export function samplesOf(wav) {
  const begin = dataOffset(wav);
  const count = Math.max(0, Math.floor((wav.byteLength - begin) / 2));
  return count === 0 ? new Int16Array(0) : new Int16Array(wav.slice(begin, begin + 2 * count));
}

/** @param {ArrayBuffer} wav @returns {number} where the samples begin: behind the header and its notes */
function dataOffset(wav) {
  const view = new DataView(wav);
  let offset = 12;
  while (offset + 8 <= wav.byteLength) {
    const isData = view.getUint32(offset) === DATA;
    const size = view.getUint32(offset + 4, true);
    offset += 8;
    if (isData) {
      return offset;
    }
    offset += size + (size % 2);
  }
  return wav.byteLength;
}
