/**
 * The audio of a recording, as the page plays it: short ones are fetched whole, which gives their outline too; long
 * ones stream from the server as they are listened to.
 */
import { Envelope } from "../audio/envelope.js";
import { apiKey, fleet } from "../shared/fleet.js";

const WAV_HEADER_BYTES = 44;
const FETCHED_SECONDS = 900;

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

/** @param {ArrayBuffer} wav s16le mono with the plain header @returns {Int16Array} */
export function samplesOf(wav) {
  const count = Math.max(0, Math.floor((wav.byteLength - WAV_HEADER_BYTES) / 2));
  return count === 0 ? new Int16Array(0) : new Int16Array(wav, WAV_HEADER_BYTES, count);
}
