/**
 * Saving a clip: WAV from the samples that were heard, other formats made by the server from the
 * same request (the seed included, so it is the same audio).
 */
import { fleet } from "../shared/fleet.js";
import { save } from "../shared/save.js";

const NAME_WORDS = 6;

/** "The quick brown fox jumps over it." -> "the-quick-brown-fox-jumps-over" */
export function fileStem(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(0, NAME_WORDS).join("-").slice(0, 60) || "speech";
}

/** @param {import("./utterance.js").Utterance} utterance @param {string} format @throws {ApiError} */
export async function downloadClip(utterance, format) {
  const blob = format === "wav" ? utterance.wav() : await encodedByServer(utterance.request, format);
  save(blob, `${fileStem(utterance.request.text)}.${format}`);
}

/** When its words are said. @param {import("./utterance.js").Utterance} utterance @param {string} format srt, vtt or json */
export function downloadSubtitles(utterance, format) {
  save(utterance.subtitles.file(format), `${fileStem(utterance.request.text)}.${format}`);
}

function encodedByServer({ text, record: _, ...options }, format) {
  return fleet.speak(text, { ...options, format });
}
