/** What the voices of requests and recordings are called, which name them by id. */
import { voiceName } from "./voice-name.js";

const voices = new Map();

/** @param {object[]} listed of GET /api/voices */
export function rememberVoices(listed) {
  for (const voice of listed) voices.set(voice.id, voice);
}

/** The name of a voice; its id where the service lists none of that id. */
export function nameOfVoice(id) {
  return voices.has(id) ? voiceName(voices.get(id)) : id;
}
