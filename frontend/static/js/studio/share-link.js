/**
 * Text and settings in the fragment of an address: it never reaches a server, and opens the studio as it was.
 *
 *   https://host/#text=Hello.&voice=ruth&cfg_value=2.5&seed=7
 */
const NUMBERS = { seed: [0, 2 ** 31 - 1], cfg_value: [1, 5], inference_timesteps: [2, 50], temperature: [0, 2] };
/** Characters. */
export const MOST_INSTRUCTIONS = 4096;
const WHOLE = new Set(["seed", "inference_timesteps"]);
const FORMATS = ["wav", "mp3", "opus", "flac", "aac"];

/** @param {{text: string, voice?: string, format?: string, parameters?: object}} settings @returns {string} "#..." */
export function toFragment({ text, voice, format, parameters = {} }) {
  const fields = Object.entries({ text, voice, format, ...parameters });
  return `#${new URLSearchParams(fields.filter(([, value]) => value !== undefined && value !== ""))}`;
}

/**
 * What an address's fragment says, or null when it says nothing of ours. Values out of range are left out; a voice
 * alone says nothing of the text and the settings that are there.
 */
export function fromFragment(fragment) {
  if (!fragment.includes("=")) return null; // a place on the page, such as #text
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!fields.has("text") && !fields.has("voice")) return null;
  const parameters = {};
  for (const [name, [least, most]] of Object.entries(NUMBERS)) {
    const value = fields.has(name) ? Number(fields.get(name)) : NaN;
    if (value >= least && value <= most && (!WHOLE.has(name) || Number.isInteger(value))) parameters[name] = value;
  }
  if (fields.get("instructions")) parameters.instructions = fields.get("instructions").slice(0, MOST_INSTRUCTIONS);
  const format = FORMATS.includes(fields.get("format")) ? fields.get("format") : undefined;
  const voice = fields.get("voice") ?? undefined;
  const alone = !fields.has("text") && !format && Object.keys(parameters).length === 0;
  return alone ? { voice } : { text: fields.get("text") ?? "", voice, format, parameters };
}

/** Calls `take` with what each link says that is opened on this page. What is changed from then on is not in the address. */
export function followLinks(take) {
  window.addEventListener("hashchange", () => {
    const settings = fromFragment(location.hash);
    if (settings) take(settings);
    leaveLink();
  });
  leaveLink();
}

function leaveLink() {
  if (location.hash.length > 1) history.replaceState(null, "", location.pathname);
}
