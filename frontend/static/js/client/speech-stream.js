/**
 * One utterance over WS /ws/tts: the request goes out, queue news, audio and one outcome come back.
 *
 * Events: "queued" {ticket_id, position, eta_seconds}, "started" {request_id, worker_id, sample_rate, session_id?},
 * "audio" (ArrayBuffer of PCM s16le), with `timestamps` in the request "timestamps" {source, words, cues} after the audio
 * of each part and "audioDone" after the last of it; then exactly one of "done" {audio_seconds, ...}, "cancelled" {asked: by us, not by an
 * administrator}, "failed" {message, code}. Nothing follows the outcome, and no audio follows cancel().
 *
 * A request with `resume: true` outlives its connection: when that breaks or the gateway ends, "reconnecting"
 * {message} is told and the clip goes on over the next connection from the sample where it stopped.
 *
 * It can be read as well: `for await (const pcm of stream)` ends with the clip and throws when it fails. What came before is kept for that,
 * unless somebody listens to "audio".
 */
import { ClipProgress } from "./clip-progress.js";
import { closeProblem, NO_CLOSE } from "./closes.js";
import { ApiError } from "./http.js";

const CANCEL_PATIENCE_MS = 2000;
const RECONNECT_PATIENCE_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2000;
/** Beyond the first ten, parts of a long token are sent no faster than gateways take messages. */
const PARTS_AT_ONCE = 10;
const PART_PAUSE_MS = 70;
const OUTCOMES = ["done", "cancelled", "failed"];

/** For people: what became of a clip whose token the gateway does not know, since it has another secret. */
const CLIP_LOST = { code: "clip_lost", message: "The gateway was lost, and the new one cannot go on with this clip. Ask for it again." };
/** Closes after which another connection may bring the rest. */
const LOST = new Set([1001, 1005, NO_CLOSE, 1012]);

export class SpeechStream extends EventTarget {
  #urls;
  #createSocket;
  #socket;
  #clip;
  #cancelling = false;
  #finished = false;
  #started = false;
  #reached = false;
  #losses = 0;
  #lostAt = 0;
  #kept = [];
  #outcome = null;
  #signal;
  #abort = () => this.cancel();

  /**
   * @param {string | string[]} urls ws:// or wss:// address of /ws/tts, or of several gateways in turn
   * @param {object} request the body of POST /tts
   * @param {{createSocket?: Function, signal?: AbortSignal}} [options] `signal` cancels, and is what who reads gets as the error
   */
  constructor(urls, request, { createSocket = (address) => new WebSocket(address), signal } = {}) {
    super();
    signal?.throwIfAborted();
    signal?.addEventListener("abort", this.#abort);
    this.#signal = signal;
    this.#urls = [urls].flat();
    this.#createSocket = createSocket;
    this.#clip = new ClipProgress(request);
    this.#connect();
  }

  /**
   * Tells the server what the listener heard: {played_samples, underruns, buffered_ms}. Only where it takes that.
   * @returns {boolean} whether it could be told
   */
  report(figures) {
    if (this.#finished || this.#cancelling || this.#socket.readyState !== 1) return false;
    this.#socket.send(JSON.stringify({ type: "stats", ...figures }));
    return true;
  }

  /** The audio, piece by piece. Leaving the loop early cancels. @throws {ApiError} when the speech failed */
  async *[Symbol.asyncIterator]() {
    const pieces = this.#kept ?? [];
    let wake = () => {};
    this.addEventListener("audio", ({ detail }) => (pieces.push(detail), wake()));
    for (const type of OUTCOMES) this.addEventListener(type, () => wake());
    try {
      for (;;) {
        while (pieces.length > 0) yield pieces.shift();
        if (this.#outcome) break;
        await new Promise((resolve) => (wake = resolve));
      }
    } finally {
      this.cancel();
    }
    if (this.#outcome.type === "cancelled") this.#signal?.throwIfAborted();
    if (this.#outcome.type === "failed") throw new ApiError(0, this.#outcome.detail);
  }

  addEventListener(type, ...listener) {
    if (type === "audio") this.#kept = null;
    super.addEventListener(type, ...listener);
  }

  /** Leaves the queue or stops the speech; "cancelled" follows, from the server or without it. */
  cancel() {
    if (this.#finished || this.#cancelling) return;
    this.#cancelling = true;
    if (this.#socket.readyState !== 1) {
      this.#finish("cancelled");
      return;
    }
    this.#socket.send(JSON.stringify({ type: "cancel" }));
    setTimeout(() => this.#finish("cancelled"), CANCEL_PATIENCE_MS);
  }

  #connect() {
    if (this.#finished) return;
    const socket = this.#createSocket(this.#urls[this.#losses % this.#urls.length]);
    this.#socket = socket;
    const ifCurrent = (action) => (event) => {
      if (socket === this.#socket) action(event);
    };
    socket.binaryType = "arraybuffer";
    socket.onopen = ifCurrent(() => this.#open(socket));
    socket.onmessage = ifCurrent(({ data }) => this.#receive(data));
    socket.onclose = ifCurrent(({ code }) => this.#closed(code));
    socket.onerror = ifCurrent(() => this.#closed(NO_CLOSE)); // Node tells no more of an address that nobody answers
  }

  #open(socket) {
    this.#reached = true;
    this.#clip.opening().forEach((message, number) => {
      const send = () => socket.readyState === 1 && socket.send(JSON.stringify(message));
      if (number < PARTS_AT_ONCE) send();
      else setTimeout(send, (number - PARTS_AT_ONCE + 1) * PART_PAUSE_MS);
    });
  }

  #receive(data) {
    if (this.#finished) return;
    if (typeof data !== "string") {
      const news = this.#clip.receive(data);
      this.#losses = 0;
      if (news && !this.#cancelling) {
        this.#kept?.push(news);
        this.#emit("audio", news);
      }
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "queued" || message.type === "queue_update") this.#emit("queued", message);
    else if (message.type === "started") this.#start(message);
    else if (message.type === "resume_token") this.#clip.seal(message);
    else if (message.type === "timestamps") this.#emit("timestamps", message);
    else if (message.type === "audio_done") this.#emit("audioDone", message);
    else if (message.type === "error") this.#failed({ ...message.error, retry_after_seconds: message.retry_after_seconds });
    else if (message.type === "cancelled") this.#finish("cancelled", message);
    else if (message.type === "done") this.#finish(this.#cancelling ? "cancelled" : "done", message);
  }

  #start(message) {
    this.#clip.start(message);
    if (!this.#started) this.#emit("started", message);
    this.#started = true;
  }

  /** An ending gateway is one to leave; a busy one is waited for by a clip that was begun. */
  #failed(error) {
    const passing = error.code === "shutting_down" || (this.#clip.begun && error.type === "capacity_error");
    if (passing && this.#reconnect(error.message)) return;
    const forgotten = this.#losses > 0 && error.code === "invalid_resume_token";
    this.#finish("failed", forgotten ? { ...error, ...CLIP_LOST } : error);
  }

  #closed(code) {
    const problem = closeProblem(code);
    if (this.#cancelling) this.#finish("cancelled");
    else if (!LOST.has(code) || !this.#reconnect(problem.message)) this.#finish("failed", problem);
  }

  /** @returns {boolean} whether there will be another connection */
  #reconnect(message) {
    const untried = this.#losses < this.#urls.length - 1;
    if (!this.#clip.resumable || !(this.#reached || untried) || this.#cancelling || this.#finished) return false;
    if (!this.#losses) this.#lostAt = Date.now();
    if (Date.now() - this.#lostAt > RECONNECT_PATIENCE_MS) return false;
    const round = Math.floor(this.#losses / this.#urls.length);
    this.#losses += 1;
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(round, 10), LONGEST_PAUSE_MS);
    const old = this.#socket;
    this.#socket = { readyState: 0, close: () => {} }; // between two connections
    old.close();
    setTimeout(() => this.#connect(), pause * (0.5 + Math.random() / 2));
    this.#emit("reconnecting", { message });
    return true;
  }

  #finish(type, detail = {}) {
    if (this.#finished) return;
    this.#finished = true;
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#socket.close();
    this.#outcome = { type, detail: { ...detail, asked: this.#cancelling } };
    this.#emit(type, this.#outcome.detail);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
