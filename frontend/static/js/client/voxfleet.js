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
import { adapterForm, pathOf, voiceForm, withQuery } from "./forms.js";
import { ApiError } from "./http.js";
import { LiveSession } from "./live-session.js";
import { SpeechStream } from "./speech-stream.js";
import { Trainings } from "./trainings.js";
import { Transport } from "./transport.js";

export { ApiError, ChatStream, LiveSession, SpeechStream };

export class VoxFleet {
  /** Books, texts in blocks with takes of each; and voices that are trained on recordings. */
  books;
  trainings;
  #transport;

  /**
   * @param {object} [options]
   * @param {string | string[]} [options.url] address of the gateway, or of several that share a resume secret; else the page's own
   * @param {string | (() => string | null)} [options.apiKey] the key, or a function that gives it for each request
   * @param {(path: string) => Promise<Response> | undefined} [options.begun] GET requests that are under way already
   * @throws {TypeError} where `url` is no address
   */
  constructor({ url = globalThis.location?.origin ?? "", apiKey = null, begun = () => undefined } = {}) {
    this.#transport = new Transport({ url, apiKey, begun });
    this.books = new Books(this.#transport);
    this.trainings = new Trainings(this.#transport);
  }

  /**
   * A request to the first gateway, with the key. @throws {ApiError}
   * @param {RequestInit & {json?: object, once?: boolean}} options `once`: sent under an Idempotency-Key, as it makes something
   */
  request(path, options) {
    return this.#transport.request(path, options);
  }

  /** What the service offers: model, sample rate, limits, formats, pages. */
  config() {
    return this.#transport.json("/api/config");
  }

  // ------------------------------------------------------------------------------------------------- speech

  /** A whole clip. @param {object} [options] of POST /tts: voice, format, seed, ... and `signal` @returns {Promise<Blob>} */
  speak(text, { signal, ...options } = {}) {
    return this.#transport.blob("/tts", { method: "POST", json: { text, ...options }, signal });
  }

  /** A clip that is there already, as another file. @param {Blob} wav mono, 16 bits @param {string} format @returns {Promise<Blob>} */
  encode(wav, format) {
    const headers = { "content-type": "audio/wav" };
    return this.#transport.blob(withQuery("/api/encode", { format }), { method: "POST", body: wav, headers });
  }

  /** A clip as it is made. @param {object} [options] of POST /tts, and `signal`; `resume` bridges broken connections */
  stream(text, { signal, ...options } = {}) {
    return new SpeechStream(this.#transport.sockets("/ws/tts"), { text, ...options }, { ...this.#transport.opener(), signal });
  }

  /** A live session. @param {object} [options] voice, model, seed, cfg_value, inference_timesteps, temperature, normalize, lexicon, record */
  live(options = {}) {
    return new LiveSession(this.#transport.sockets("/ws/live")[0], options, this.#transport.opener());
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
   * The answer of a text model while it is written, for `for await`; with `audio` it is spoken meanwhile.
   * @param {object} [options] as for chat, and audio: {voice?, model?, format?}, which is s16le at 24 kHz unless it says
   *   otherwise @returns {ChatStream}
   */
  streamChat(messages, options = {}) {
    return new ChatStream((...sent) => this.request(...sent), messages, options);
  }

  // ------------------------------------------------------------------------------------------------- voices

  /** @returns {Promise<object[]>} those of the models first, then custom ones by name */
  async voices() {
    return (await this.#transport.json("/api/voices")).voices;
  }

  voice(id) {
    return this.#transport.json(voicePath(id));
  }

  /**
   * Makes a voice of a recording. Without consent_by and consent_statement it can not be used yet.
   * @param {{audio: Blob, name: string, language?, description?, tags?: string[], transcript?, parameters?: object,
   *   consent_by?, consent_statement?}} voice
   * @returns {Promise<object>} the voice, and `checks` [{code, severity, message, regions}] of its recording
   */
  createVoice(voice) {
    return this.#transport.json("/api/voices", { method: "POST", once: true, body: voiceForm(voice) });
  }

  /**
   * What is heard in a recording, and what is wrong where. Nothing is kept of it.
   * @returns {Promise<{usable: boolean, audio_seconds: number, sound_seconds: number, loudness_lufs: number, checks: object[]}>}
   */
  checkRecording(audio, { denoise = false, signal } = {}) {
    return this.#transport.json("/api/voices/checks", { method: "POST", body: voiceForm({ audio, denoise }), signal });
  }

  /**
   * A sentence spoken with a recording that is kept nowhere. @param {object} voice as for createVoice, with consent
   * @param {{sentenceLanguage?: string, signal?: AbortSignal}} [options] @returns {Promise<Blob>} a WAV file
   */
  tryVoice(voice, { sentenceLanguage, signal } = {}) {
    const form = voiceForm(voice);
    if (sentenceLanguage) form.append("sentence_language", sentenceLanguage);
    return this.#transport.blob("/api/voices/trial", { method: "POST", body: form, signal });
  }

  updateVoice(id, changes) {
    return this.#transport.json(voicePath(id), { method: "PATCH", json: changes });
  }

  async deleteVoice(id) {
    await this.request(voicePath(id), { method: "DELETE" });
  }

  /** What the voice sounds like. @returns {Promise<Blob>} a WAV file */
  voicePreview(id) {
    return this.#transport.blob(`${voicePath(id)}/preview`);
  }

  /** The sentence to agree to, and to read aloud. @param {string} [language] such as "zh"; English where there is none */
  async consentStatement(language) {
    return (await this.#transport.json(withQuery("/api/voices/consent", { language }))).statement;
  }

  // ----------------------------------------------------------------------------------------------- adapters

  /** The adapters that the caller may see; speak, stream and live take one as `adapter`. @returns {Promise<object[]>} */
  async adapters() {
    return (await this.#transport.json("/api/adapters")).adapters;
  }

  /**
   * Sends what fine-tuning wrote. Without consent_by and consent_statement it can not be used yet.
   * @param {{weights: Blob, config: Blob | string, name: string, description?, model?, consent_by?, consent_statement?}}
   *   adapter `config`: lora_config.json or adapter_config.json
   */
  async createAdapter(adapter) {
    const body = await adapterForm(adapter);
    return this.#transport.json("/api/adapters", { method: "POST", once: true, body });
  }

  /** Deletes an adapter. Clips that are being spoken with it are finished. */
  async deleteAdapter(id) {
    await this.request(pathOf("/api/adapters", id), { method: "DELETE" });
  }

  // ------------------------------------------------------------------------------------------ pronunciation

  /** The client's lexicon: how words are said for it. @returns {Promise<{entries: Record<string, string>, max_entries: number}>} */
  lexicon() {
    return this.#transport.json("/api/lexicon");
  }

  /** Adds a word, or changes how it is said. @returns {Promise<object>} as lexicon() */
  async setWord(word, spoken) {
    return this.#transport.json(wordPath(word), { method: "PUT", json: { spoken } });
  }

  /** Forgets a word. @returns {Promise<object>} as lexicon() */
  async deleteWord(word) {
    return this.#transport.json(wordPath(word), { method: "DELETE" });
  }

  // ------------------------------------------------------------------------------------------------- jobs

  /** Has a long text spoken while nobody waits. @param {object} [options] of POST /api/jobs @returns {Promise<object>} */
  async startJob(text, options = {}) {
    return (await this.#transport.json("/api/jobs", { method: "POST", once: true, json: { text, ...options } })).job;
  }

  /** @param {{limit?: number, before?: string}} [page] @returns {Promise<object>} newest first */
  jobs(page = {}) {
    return this.#transport.json(withQuery("/api/jobs", page));
  }

  /** How far a job is, and its chapters. */
  async job(id) {
    return (await this.#transport.json(jobPath(id))).job;
  }

  async cancelJob(id) {
    return (await this.#transport.json(`${jobPath(id)}/cancel`, { method: "POST" })).job;
  }

  async resumeJob(id) {
    return (await this.#transport.json(`${jobPath(id)}/resume`, { method: "POST" })).job;
  }

  /** @param {{format?: string, sample_rate?: number, bit_rate?: number}} [file] @returns {Promise<Blob>} its audio */
  jobResult(id, file = {}) {
    return this.#transport.blob(withQuery(`${jobPath(id)}/result`, file));
  }

  /** @param {"srt" | "vtt" | "json"} format @returns {Promise<Blob>} when its words are said, if it has `timestamps` */
  jobWords(id, format) {
    return this.#transport.blob(`${jobPath(id)}/words.${format}`);
  }

  async deleteJob(id) {
    await this.request(jobPath(id), { method: "DELETE" });
  }

  // ----------------------------------------------------------------------------------------------- sessions

  /** @param {{limit?: number, before?: string, search?: string}} [page] @returns {Promise<object>} newest first */
  sessions(page = {}) {
    return this.#transport.json(withQuery("/api/sessions", page));
  }

  /** @param {{key?: string}} [share] a share key @returns {Promise<object>} meta and timeline */
  session(id, share = {}) {
    return this.#transport.json(withQuery(sessionPath(id), share));
  }

  /** @param {{utterance?: number, key?: string}} [part] one utterance of it @returns {Promise<Blob>} WAV */
  sessionAudio(id, { utterance, ...share } = {}) {
    const part = utterance === undefined ? "/audio" : `/audio/${utterance}`;
    return this.#transport.blob(withQuery(sessionPath(id) + part, share));
  }

  /** @returns {Promise<File>} a zip of everything that was recorded */
  downloadSession(id, share = {}) {
    return this.#transport.file(withQuery(`${sessionPath(id)}/download`, share));
  }

  /** @param {string[]} ids at most 100 @returns {Promise<File>} a zip with a folder for each */
  downloadSessions(ids) {
    return this.#transport.file("/api/sessions/download", { method: "POST", json: { ids } });
  }

  /** @param {"srt" | "vtt" | "json"} format @returns {Promise<File>} when its words are said */
  sessionWords(id, format, share = {}) {
    return this.#transport.file(withQuery(`${sessionPath(id)}/words.${format}`, share));
  }

  /** @param {{title?: string, comment?: string}} changes */
  updateSession(id, changes) {
    return this.#transport.json(sessionPath(id), { method: "PATCH", json: changes });
  }

  /** @returns {Promise<{share_key: string, url: string}>} */
  shareSession(id) {
    return this.#transport.json(`${sessionPath(id)}/share`, { method: "POST" });
  }

  async unshareSession(id) {
    await this.request(`${sessionPath(id)}/share`, { method: "DELETE" });
  }

  async deleteSession(id) {
    await this.request(sessionPath(id), { method: "DELETE" });
  }
}

const voicePath = (id) => pathOf("/api/voices", id);
const jobPath = (id) => pathOf("/api/jobs", id);
const sessionPath = (id) => pathOf("/api/sessions", id);

/** Signs alone are no word, ".." would be another address, and a lone surrogate has none. @throws {ApiError} */
function wordPath(word) {
  if (/[\p{L}\p{N}]/u.test(word) && !/\p{Surrogate}/u.test(word)) return pathOf("/api/lexicon/words", word);
  throw new ApiError(422, { message: "A word has letters or digits, and is valid Unicode.", code: "invalid_value", param: "word" });
}
