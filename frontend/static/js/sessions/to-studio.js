/**
 * A recording as an address of the studio: its words, its voice, and what it was spoken with.
 */
import { toFragment } from "../studio/share-link.js";

const KEPT = ["cfg_value", "inference_timesteps", "temperature", "instructions"];

/** @param {{session: object, timeline: object}} recording of GET /api/sessions/{id} */
export function studioAddress({ session: { voice, seed }, timeline: { utterances = [] } }) {
  const text = utterances.map((utterance) => utterance.text.trim()).filter(Boolean).join("\n");
  const given = KEPT.map((name) => [name, utterances[0]?.parameters?.[name]]).filter(([, value]) => value != null);
  const parameters = { ...Object.fromEntries(given), ...(utterances.length === 1 && seed !== null && { seed }) };
  return `/${toFragment({ text, voice, parameters })}`;
}
