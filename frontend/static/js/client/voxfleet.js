/**
 * The JavaScript client of a VoxFleet service: one ES module, no dependencies, for pages and for Node 22.
 *
 *   import { VoxFleet } from "/static/js/client/voxfleet.js";
 *
 *   const fleet = new VoxFleet({ url: "http://localhost:8006" });      // apiKey: "..." where one is needed
 *   const blob = await fleet.speak("Hello.", { voice: "default", format: "mp3" });
 *   for await (const pcm of fleet.stream("A long text.", { resume: true })) play(pcm);   // PCM s16le
 *
 *   const live = fleet.live({ voice: "default" });
 *   live.addEventListener("audio", ({ detail }) => play(detail.pcm));
 *   live.append("Text that is still ");
 *   live.append("being written. ");
 *   live.cancel(playedSamples);                                         // barge-in
 *
 *   for await (const piece of fleet.streamChat("What is new?")) show(piece);            // of a text model
 *
 * Whatever the service refuses is thrown as an ApiError {status, code, param, message, retryAfterSeconds}.
 */
import { Books } from "./books.js";
import { ChatStream, wholeChat } from "./chat-stream.js";
import { addressesOf, checkedKey, keyProtocol } from "./connection.js";
import { ApiError, request, requestOnce } from "./http.js";
import { LiveSession } from "./live-session.js";
import { SpeechStream } from "./speech-stream.js";
import { Trainings } from "./trainings.js";

export { ApiError, ChatStream, LiveSession, SpeechStream };

const SUBPROTOCOL = "voxfleet";
/** Fields of a new voice that go into the form as they are. */
const VOICE_FIELDS = ["name", "language", "description", "transcript", "denoise", "consent_by", "consent_statement"];

export class VoxFleet {
  /** Texts in blocks, with takes of each. */
  books = new Books((path, options) => this.request(path, options));
  trainings = new Trainings((path, options) => this.request(path, options));
  #urls;
  #apiKey;
  #begun;

  /**
   * @param {object} [options]
   * @param {string | string[]} [options.url] of the gateway, or of several that share a resume secret; the page's own
   * @param {string | (() => string | null)} [options.apiKey] or what tells it, asked for each request
   * @param {(path: string) => Promise<Response> | undefined} [options.begun] GET requests that are under way already
   * @throws {TypeError} for what is no address
   */
  constructor({ url = globalThis.location?.origin ?? "", apiKey = null, begun = () => undefined } = {}) {
    this.#urls = addressesOf(url);
    this.#begun = begun;
    const tell = typeof apiKey === "function" ? apiKey : () => apiKey;
    this.#apiKey = () => checkedKey(tell());
  }

  /**
   * A request to the first gateway with the key. @throws {ApiError}
   * @param {RequestInit & {json?: object, once?: boolean}} options `once`: of one that makes something
   */
  async request(path, { json, once = false, headers = {}, ...options } = {}) {
    const key = this.#apiKey();
    const sent = { ...headers, ...(key ? { authorization: `Bearer ${key}` } : {}) };
    const begun = json === undefined && (options.method ?? "GET") === "GET" ? this.#begun(path) : undefined;
    const asked = { ...options, headers: sent };
    if (json !== undefined) {
      asked.body = JSON.stringify(json);
      sent["content-type"] = "application/json";
    }
    const address = this.#urls[0] + path;
    return once ? requestOnce(address, asked) : request(address, asked, begun);
  }

  async #json(path, options) {
    return (await this.request(path, options)).json();
  }

  async #blob(path, options) {
    return (await this.request(path, options)).blob();
  }

  /** A file with the name that the service gives it. */
  async #file(path, options) {
    const response = await this.request(path, options);
    return new File([await response.blob()], fileNameOf(response.headers.get("content-disposition")));
  }

  /** What the service offers: model, sample rate, limits, formats, pages. */
  config() {
    return this.#json("/api/config");
  }

  // ------------------------------------------------------------------------------------------------- speech

  /** A whole clip. @param {object} [options] of POST /tts: voice, format, seed, ... and `signal` @returns {Promise<Blob>} */
  speak(text, { signal, ...options } = {}) {
    return this.#blob("/tts", { method: "POST", json: { text, ...options }, signal });
  }

  /** A clip that is there already, as another file. @param {Blob} wav mono, 16 bits @param {string} format @returns {Promise<Blob>} */
  encode(wav, format) {
    const headers = { "content-type": "audio/wav" };
    return this.#blob(withQuery("/api/encode", { format }), { method: "POST", body: wav, headers });
  }

  /** A clip as it is made. @param {object} [options] of POST /tts, and `signal`; `resume` bridges broken connections */
  stream(text, { signal, ...options } = {}) {
    return new SpeechStream(this.#sockets("/ws/tts"), { text, ...options }, { ...this.#opener(), signal });
  }

  /** A live session. @param {object} [options] voice, model, seed, cfg_value, inference_timesteps, temperature, normalize, lexicon, record */
  live(options = {}) {
    return new LiveSession(this.#sockets("/ws/live")[0], options, this.#opener());
  }

  /**
   * The whole answer of a text model. @param {string | object[]} messages a text, or a conversation of {role, content}
   * @param {object} [options] of POST /v1/chat/completions, and `signal`
   * @returns {Promise<{text: string, finishReason: string, model: string, seed: number}>} and promptTokens, completionTokens
   */
  chat(messages, options = {}) {
    return wholeChat((...sent) => this.request(...sent), messages, options);
  }

  /**
   * The same while it is written, for `for await`; spoken meanwhile, where there is `audio`.
   * @param {object} [options] as for chat, and audio: {voice?, model?, format?}, which is s16le at 24 kHz unless it says
   *   otherwise @returns {ChatStream}
   */
  streamChat(messages, options = {}) {
    return new ChatStream((...sent) => this.request(...sent), messages, options);
  }

  #sockets(path) {
    return this.#urls.map((url) => url.replace(/^http/, "ws") + path);
  }

  #opener() {
    const key = this.#apiKey();
    const protocols = key ? [SUBPROTOCOL, keyProtocol(key)] : [];
    return { createSocket: (address) => new WebSocket(address, protocols) };
  }

  // ------------------------------------------------------------------------------------------------- voices

  /** @returns {Promise<object[]>} those of the models first, then custom ones by name */
  async voices() {
    return (await this.#json("/api/voices")).voices;
  }

  voice(id) {
    return this.#json(`/api/voices/${encodeURIComponent(id)}`);
  }

  /**
   * Makes a voice of a recording. Without consent_by and consent_statement it can not be used yet.
   * @param {{audio: Blob, name: string, language?, description?, tags?: string[], transcript?, parameters?: object,
   *   consent_by?, consent_statement?}} voice
   * @returns {Promise<object>} the voice, and `checks` [{code, severity, message, regions}] of its recording
   */
  createVoice(voice) {
    return this.#json("/api/voices", { method: "POST", once: true, body: voiceForm(voice) });
  }

  /**
   * What is heard in a recording, and what is wrong where. Nothing is kept of it.
   * @returns {Promise<{usable: boolean, audio_seconds: number, sound_seconds: number, loudness_lufs: number, checks: object[]}>}
   */
  checkRecording(audio, { denoise = false, signal } = {}) {
    return this.#json("/api/voices/checks", { method: "POST", body: voiceForm({ audio, denoise }), signal });
  }

  /**
   * A sentence spoken with a recording that is kept nowhere. @param {object} voice as for createVoice, with consent
   * @param {{sentenceLanguage?: string, signal?: AbortSignal}} [options] @returns {Promise<Blob>} a WAV file
   */
  tryVoice(voice, { sentenceLanguage, signal } = {}) {
    const form = voiceForm(voice);
    if (sentenceLanguage) form.append("sentence_language", sentenceLanguage);
    return this.#blob("/api/voices/trial", { method: "POST", body: form, signal });
  }

  updateVoice(id, changes) {
    return this.#json(`/api/voices/${encodeURIComponent(id)}`, { method: "PATCH", json: changes });
  }

  async deleteVoice(id) {
    await this.request(`/api/voices/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  /** What the voice sounds like. @returns {Promise<Blob>} a WAV file */
  voicePreview(id) {
    return this.#blob(`/api/voices/${encodeURIComponent(id)}/preview`);
  }

  /** The sentence to agree to, and to read aloud. @param {string} [language] such as "zh"; English where there is none */
  async consentStatement(language) {
    return (await this.#json(withQuery("/api/voices/consent", { language }))).statement;
  }

  // ----------------------------------------------------------------------------------------------- adapters

  /** Those that one may see. speak, stream and live take one as `adapter`. @returns {Promise<object[]>} */
  async adapters() {
    return (await this.#json("/api/adapters")).adapters;
  }

  /**
   * Sends what fine-tuning wrote. Without consent_by and consent_statement it can not be used yet.
   * @param {{weights: Blob, config: Blob | string, name: string, description?, model?, consent_by?, consent_statement?}}
   *   adapter `config`: lora_config.json or adapter_config.json
   */
  async createAdapter({ weights, config, ...adapter }) {
    const form = new FormData();
    form.append("weights", weights, weights.name ?? "lora_weights.safetensors");
    form.append("config", typeof config === "string" ? config : await config.text());
    for (const [field, value] of Object.entries(adapter)) if (value) form.append(field, value);
    return this.#json("/api/adapters", { method: "POST", once: true, body: form });
  }

  /** Clips that are being spoken with it are finished. */
  async deleteAdapter(id) {
    await this.request(`/api/adapters/${encodeURIComponent(id)}`, { method: "DELETE" });
  }

  // ------------------------------------------------------------------------------------------ pronunciation

  /** How words are said for this client. @returns {Promise<{entries: Record<string, string>, max_entries: number}>} */
  lexicon() {
    return this.#json("/api/lexicon");
  }

  /** Adds or changes one. @returns {Promise<object>} as lexicon() */
  async setWord(word, spoken) {
    return this.#json(wordPath(word), { method: "PUT", json: { spoken } });
  }

  /** @returns {Promise<object>} as lexicon() */
  async deleteWord(word) {
    return this.#json(wordPath(word), { method: "DELETE" });
  }

  // ------------------------------------------------------------------------------------------------- jobs

  /** Has a long text spoken while nobody waits. @param {object} [options] of POST /api/jobs @returns {Promise<object>} */
  async startJob(text, options = {}) {
    return (await this.#json("/api/jobs", { method: "POST", once: true, json: { text, ...options } })).job;
  }

  /** @param {{limit?: number, before?: string}} [page] @returns {Promise<object>} newest first */
  jobs(page = {}) {
    return this.#json(withQuery("/api/jobs", page));
  }

  /** How far it is, and its chapters. */
  async job(id) {
    return (await this.#json(jobPath(id))).job;
  }

  async cancelJob(id) {
    return (await this.#json(`${jobPath(id)}/cancel`, { method: "POST" })).job;
  }

  async resumeJob(id) {
    return (await this.#json(`${jobPath(id)}/resume`, { method: "POST" })).job;
  }

  /** @param {{format?: string, sample_rate?: number, bit_rate?: number}} [file] @returns {Promise<Blob>} its audio */
  jobResult(id, file = {}) {
    return this.#blob(withQuery(`${jobPath(id)}/result`, file));
  }

  /** @param {"srt" | "vtt" | "json"} format @returns {Promise<Blob>} when its words are said, if it has `timestamps` */
  jobWords(id, format) {
    return this.#blob(`${jobPath(id)}/words.${format}`);
  }

  async deleteJob(id) {
    await this.request(jobPath(id), { method: "DELETE" });
  }

  // ----------------------------------------------------------------------------------------------- sessions

  /** @param {{limit?: number, before?: string, search?: string}} [page] @returns {Promise<object>} newest first */
  sessions(page = {}) {
    return this.#json(withQuery("/api/sessions", page));
  }

  /** @param {{key?: string}} [share] a share key @returns {Promise<object>} meta and timeline */
  session(id, share = {}) {
    return this.#json(withQuery(sessionPath(id), share));
  }

  /** @param {{utterance?: number, key?: string}} [part] one utterance of it @returns {Promise<Blob>} WAV */
  sessionAudio(id, { utterance, ...share } = {}) {
    const part = utterance === undefined ? "/audio" : `/audio/${utterance}`;
    return this.#blob(withQuery(sessionPath(id) + part, share));
  }

  /** @returns {Promise<File>} a zip of everything that was recorded */
  downloadSession(id, share = {}) {
    return this.#file(withQuery(`${sessionPath(id)}/download`, share));
  }

  /** @param {string[]} ids at most 100 @returns {Promise<File>} a zip with a folder for each */
  downloadSessions(ids) {
    return this.#file("/api/sessions/download", { method: "POST", json: { ids } });
  }

  /** @param {"srt" | "vtt" | "json"} format @returns {Promise<File>} when its words are said */
  sessionWords(id, format, share = {}) {
    return this.#file(withQuery(`${sessionPath(id)}/words.${format}`, share));
  }

  /** @param {{title?: string, comment?: string}} changes */
  updateSession(id, changes) {
    return this.#json(sessionPath(id), { method: "PATCH", json: changes });
  }

  /** @returns {Promise<{share_key: string, url: string}>} */
  shareSession(id) {
    return this.#json(`${sessionPath(id)}/share`, { method: "POST" });
  }

  async unshareSession(id) {
    await this.request(`${sessionPath(id)}/share`, { method: "DELETE" });
  }

  async deleteSession(id) {
    await this.request(sessionPath(id), { method: "DELETE" });
  }
}

/** The name in a header Content-Disposition (RFC 6266). @param {string | null} header */
export function fileNameOf(header) {
  const told = /filename\*=UTF-8''([^;]+)/i.exec(header ?? "");
  return told ? decodeURIComponent(told[1]) : (/filename="([^"]+)"/.exec(header ?? "")?.[1] ?? "speech");
}

const jobPath = (id) => `/api/jobs/${encodeURIComponent(id)}`;
const sessionPath = (id) => `/api/sessions/${encodeURIComponent(id)}`;

/** Signs alone are no word, and ".." would be another address. @throws {ApiError} */
function wordPath(word) {
  if (/[\p{L}\p{N}]/u.test(word)) return `/api/lexicon/words/${encodeURIComponent(word)}`;
  throw new ApiError(422, { message: "A word has letters or digits.", code: "invalid_value", param: "word" });
}

function withQuery(path, fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path;
}

/** The form of a new voice. */
function voiceForm({ audio, tags = [], parameters, ...voice }) {
  const form = new FormData();
  form.append("audio", audio, audio.name ?? "recording.wav");
  for (const field of VOICE_FIELDS) if (voice[field]) form.append(field, voice[field]);
  if (tags.length > 0) form.append("tags", tags.join(","));
  if (parameters) form.append("parameters", JSON.stringify(parameters));
  return form;
}
