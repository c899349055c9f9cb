/**
 * Saving a clip: WAV from the samples that were heard, other formats made by the server from the
 * same request (the seed included, so it is the same audio).
 */
import { request } from "../shared/api.js";
import { h } from "../shared/dom.js";

const NAME_WORDS = 6;
const REVOKE_AFTER_MS = 30_000;

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

async function encodedByServer(body, format) {
  const response = await request("/tts", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, format }),
  });
  return response.blob();
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
}
