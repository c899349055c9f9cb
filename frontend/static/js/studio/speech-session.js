/**
 * One utterance over WS /ws/tts: the request goes out, queue news, audio and one outcome come back.
 *
 * Events: "queued" {ticket_id, position, eta_seconds}, "started" {request_id, worker_id, sample_rate},
 * "audio" (ArrayBuffer of PCM s16le), then exactly one of "done" {audio_seconds, ...}, "cancelled" {asked: by us, not by an
 * administrator}, "failed" {message, code}. Nothing follows the outcome, and no audio follows cancel().
 */
const CANCEL_PATIENCE_MS = 2000;

const CLOSE_MESSAGES = {
  1006: "The connection to the gateway was lost.",
  1008: "The gateway refused the request.",
  1009: "The request is too large.",
  1011: "Speech generation failed.",
  1012: "The gateway is restarting. Try again in a moment.",
  1013: "The gateway is at capacity. Try again in a moment.",
};

export class SpeechSession extends EventTarget {
  #socket;
  #cancelling = false;
  #finished = false;

  /**
   * @param {string} url ws:// or wss:// address of /ws/tts
   * @param {object} request the body of POST /tts
   */
  constructor(url, request, { createSocket = (address) => new WebSocket(address) } = {}) {
    super();
    this.#socket = createSocket(url);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.onopen = () => this.#socket.send(JSON.stringify({ ...request, format: "pcm" }));
    this.#socket.onmessage = ({ data }) => this.#receive(data);
    this.#socket.onclose = ({ code }) => this.#closed(code);
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

  #receive(data) {
    if (this.#finished) return;
    if (typeof data !== "string") {
      if (!this.#cancelling) this.#emit("audio", data);
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "queued" || message.type === "queue_update") this.#emit("queued", message);
    else if (message.type === "started") this.#emit("started", message);
    else if (message.type === "error") this.#finish("failed", message.error);
    else if (message.type === "cancelled") this.#finish("cancelled", message);
    else if (message.type === "done") this.#finish(this.#cancelling ? "cancelled" : "done", message);
  }

  #closed(code) {
    if (this.#cancelling) this.#finish("cancelled");
    else this.#finish("failed", { message: CLOSE_MESSAGES[code] ?? `The connection closed (${code}).`, code });
  }

  #finish(type, detail = {}) {
    if (this.#finished) return;
    this.#finished = true;
    this.#socket.close();
    this.#emit(type, { ...detail, asked: this.#cancelling });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
