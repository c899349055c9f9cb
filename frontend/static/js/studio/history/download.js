/**
 * Saving a clip: the samples that were heard, as a WAV file or encoded by the server. Nothing is spoken again.
 */
import { fleet } from "../../shared/service/fleet.js";
import { save } from "../../shared/files/save.js";
import { zipOf } from "../../shared/files/zip.js";

const NAME_WORDS = 6;

/** What a clip is called: by its listener, else by its words. */
export function titleOf({ name = "", request }) {
  return name || request.text;
}

/** "The quick brown fox jumps over it." -> "the-quick-brown-fox-jumps-over" */
export function fileStem(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(0, NAME_WORDS).join("-").slice(0, 60) || "speech";
}

/** @param {import("../utterance.js").Utterance} utterance @param {string} format @throws {ApiError} */
export async function downloadClip(utterance, format) {
  const blob = format === "wav" ? utterance.wav() : await fleet.encode(utterance.wav(), format);
  save(blob, `${fileStem(titleOf(utterance))}.${format}`);
}

/** Clips of the history as one zip file. @param {object[]} entries of the ClipStore */
export async function exportClips(entries) {
  const taken = new Map();
  const files = entries.map((entry) => {
    const stem = fileStem(titleOf(entry));
    const count = (taken.get(stem) ?? 0) + 1;
    taken.set(stem, count);
    return { name: `${stem}${count > 1 ? `-${count}` : ""}.wav`, blob: entry.wav, at: entry.at };
  });
  save(await zipOf(files), "voxfleet-clips.zip");
}

/** When its words are said. @param {import("../utterance.js").Utterance} utterance @param {string} format srt, vtt or json */
export function downloadSubtitles(utterance, format) {
  save(utterance.subtitles.file(format), `${fileStem(titleOf(utterance))}.${format}`);
}
