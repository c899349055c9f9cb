/** Why nobody can speak with a voice. */

/**
 * @param {{usable?: boolean, lacks?: string | null}} voice of GET /api/voices
 * @returns {"consent" | "adapter" | "model" | null} what is missing; null where it can be used
 */
export function lackOf({ usable = true, lacks }) {
  return usable ? null : (lacks ?? "consent"); // gateways of former versions do not say why
}
