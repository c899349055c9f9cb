/** What calls to a service are made of: paths, queries and forms; the names of its files. */

/** Fields of a new voice that go into the form as they are. */
const VOICE_FIELDS = ["name", "language", "description", "transcript", "denoise", "consent_by", "consent_statement"];

const LONE_SURROGATE = /\p{Surrogate}/gu;

/** What is called so below a path; what is no Unicode is sent as �. @param {string} path @param {string} name */
export function pathOf(path, name) {
  return `${path}/${encodeURIComponent(String(name).replace(LONE_SURROGATE, "\ufffd"))}`;
}

/** A path with the fields that are given. @param {object} fields */
export function withQuery(path, fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** The form of a new voice. */
export function voiceForm({ audio, tags = [], parameters, ...voice }) {
  const form = new FormData();
  form.append("audio", audio, audio.name ?? "recording.wav");
  for (const field of VOICE_FIELDS) if (voice[field]) form.append(field, voice[field]);
  if (tags.length > 0) form.append("tags", [tags].flat().join(","));
  if (parameters) form.append("parameters", JSON.stringify(parameters));
  return form;
}

/** The form of a new adapter. */
export async function adapterForm({ weights, config, ...adapter }) {
  const form = new FormData();
  form.append("weights", weights, weights.name ?? "lora_weights.safetensors");
  form.append("config", typeof config === "string" ? config : await config.text());
  for (const [field, value] of Object.entries(adapter)) if (value) form.append(field, value);
  return form;
}

/** The name in a header Content-Disposition (RFC 6266). @param {string | null} header */
export function fileNameOf(header) {
  const told = /filename\*=UTF-8''([^;]+)/i.exec(header ?? "");
  return told ? decodeURIComponent(told[1]) : (/filename="([^"]+)"/.exec(header ?? "")?.[1] ?? "speech");
}
