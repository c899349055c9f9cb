/**
 * Saving a clip: the samples that were heard, as a WAV file or encoded by the server. Nothing is spoken again.
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
  const blob = format === "wav" ? utterance.wav() : await fleet.encode(utterance.wav(), format);
  save(blob, `${fileStem(utterance.request.text)}.${format}`);
}

/** When its words are said. @param {import("./utterance.js").Utterance} utterance @param {string} format srt, vtt or json */
export function downloadSubtitles(utterance, format) {
  save(utterance.subtitles.file(format), `${fileStem(utterance.request.text)}.${format}`);
}
