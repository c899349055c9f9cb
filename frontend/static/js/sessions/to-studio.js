/**
 * A recording as an address of the studio: its words, its voice and its seed.
 */
import { toFragment } from "../studio/share-link.js";

/** @param {{session: object, timeline: object}} recording of GET /api/sessions/{id} */
export function studioAddress({ session: { voice, seed }, timeline: { utterances = [] } }) {
  const text = utterances.map((utterance) => utterance.text.trim()).filter(Boolean).join("\n");
  return `/${toFragment({ text, voice, parameters: utterances.length === 1 && seed !== null ? { seed } : {} })}`;
}
