/**
 * A live session over WS /ws/live: text is appended while its audio streams out.
 *
 * Events: "queued" {ticket_id, position, eta_seconds}, "started" {session_id, worker_id, sample_rate}, "utterance" {index,
 * text, start, end, first_sample}, "audio" {pcm: ArrayBuffer of PCM s16le, firstSample: its place in all audio sent},
 * "utterance_done" {index, last_sample, finish_reason}, "timestamps" {index, source, words, cues} where the options ask
 * for them, "cancelled" {epoch, spoken_text, spoken_characters,
 * played_samples}, "paused" {limit_seconds}, "resumed", "released" {reason}, "idle" {closes_in_seconds}, "complaint"
 * {message, code} of one message while the session goes on, then exactly one of "done" and "failed" {message, code}. No audio of before follows cancel(). Commands given before the socket is open wait for it.
 */
import { closeProblem, NO_CLOSE } from "./closes.js";

/** What is appended within this time goes out as one message: gateways limit messages per second. */
const APPEND_MS = 60;
const SAMPLE_BYTES = 2;

export class LiveSession extends EventTarget {
  #socket;
  #early = [];
  #text = "";
  #timer = null;
  #cancels = 0;
  #ending = false;
  #finished = false;

  /** Samples that the server has sent, those included that a cancel made void. */
  receivedSamples = 0;

  /** @param {string} url ws:// or wss:// address of /ws/live @param {object} options voice, seed, ... of "start" */
  constructor(url, options = {}, { createSocket = (address) => new WebSocket(address) } = {}) {
    super();
    this.#early.push({ type: "start", ...options });
    this.#socket = createSocket(url);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onopen = () => this.#early.splice(0).forEach((message) => this.#put(message));
    this.#socket.onmessage = ({ data }) => this.#receive(data);
    this.#socket.onclose = ({ code }) => this.#closed(code);
    this.#socket.onerror = () => this.#closed(NO_CLOSE); // Node tells no more of an address that nobody answers
  }

  /** Whether the session is over: nothing can be said in it any more. */
  get finished() {
    return this.#finished;
  }

  /** Adds to the text; sentences are spoken once they are complete. */
  append(text) {
    if (text === "" || this.#ending || this.#finished) return;
    this.#text += text;
    this.#timer ??= setTimeout(() => this.#sendText(), APPEND_MS);
  }

  /** Speaks what is incomplete as well. */
  flush() {
    this.#command({ type: "flush" });
  }

  /** Barge-in: nothing that was appended is spoken further. @param {number} playedSamples heard so far */
  cancel(playedSamples = 0) {
    if (this.#finished) return;
    this.#text = "";
    this.#cancels += 1;
    this.#put({ type: "cancel", played_samples: Math.round(playedSamples) }); // after stop(), too
  }

  pause() {
    this.#command({ type: "pause" });
  }

  resume() {
    this.#command({ type: "resume" });
  }

  /** What is appended is still spoken; "done" follows. */
  stop() {
    this.#command({ type: "stop" });
    this.#ending = true;
  }

  /** Leaves at once. */
  close() {
    if (this.#finished) return;
    this.#finished = true;
    clearTimeout(this.#timer);
    this.#socket.close(1000);
  }

  /** Tells the server what the listener heard: {played_samples, underruns, buffered_ms}. Only where it takes that. */
  report(figures) {
    if (!this.#finished && this.#socket.readyState === 1) this.#put({ type: "stats", ...figures });
  }

  #command(message) {
    if (this.#finished || this.#ending) return;
    this.#sendText();
    this.#put(message);
  }

  #sendText() {
    clearTimeout(this.#timer);
    this.#timer = null;
    const text = this.#text;
    this.#text = "";
    if (text) this.#put({ type: "append", text });
  }

  #put(message) {
    if (this.#socket.readyState === 1) this.#socket.send(JSON.stringify(message));
    else if (this.#socket.readyState === 0) this.#early.push(message);
  }

  #receive(data) {
    if (this.#finished) return;
    if (typeof data !== "string") {
      const firstSample = this.receivedSamples;
      this.receivedSamples += data.byteLength / SAMPLE_BYTES;
      if (this.#cancels === 0) this.#emit("audio", { pcm: data, firstSample });
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "error" && message.fatal === false) this.#emit("complaint", message.error);
    else if (message.type === "error") this.#finish("failed", message.error);
    else if (message.type === "done") this.#finish("done", message);
    else if (message.type === "queue_update") this.#emit("queued", message);
    else {
      if (message.type === "cancelled") this.#cancels = Math.max(0, this.#cancels - 1);
      this.#emit(message.type, message);
    }
  }

  #closed(code) {
    if (!this.#finished) this.#finish("failed", closeProblem(code));
  }

  #finish(type, detail) {
    this.close();
    this.#emit(type, detail);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
