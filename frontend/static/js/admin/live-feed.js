/**
 * The fleet as it changes: pushed by GET /api/events, polled every 2 s while that does not work.
 *
 * Events: "workers" and "queue" (detail: the JSON of /api/workers and /api/queue), "fleet" (that of /api/fleet) and
 * "log" (new lines of the event log as {events: [...]}), both pushed only, and "mode" (detail: {mode: "live" |
 * "polling" | "offline", error?}). The server pushes at least every second, so a stream that is silent for longer
 * than 5 s counts as broken.
 */
import { within } from "../shared/service/patience.js";
import { serverEvents } from "./server-events.js";

const POLL_MS = 2000;
const SILENCE_MS = 5000;
/** A poll that is not answered for so long counts as one that failed. */
const POLL_SILENCE_MS = 10_000;
const POLLS_BETWEEN_STREAMS = 5;
const KINDS = ["workers", "queue"];
const PUSHED = [...KINDS, "fleet", "log"];

const sleepMs = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export class LiveFeed extends EventTarget {
  #access;
  #sleep;
  #patience;
  #mode = null;
  #streams = false;
  #open = true;

  /** @param {import("./access.js").AdminAccess} access */
  constructor(access, { sleep = sleepMs, patience = POLL_SILENCE_MS } = {}) {
    super();
    this.#patience = patience;
    this.#access = access;
    this.#sleep = sleep;
  }

  /** Runs until close(). */
  async run() {
    while (this.#open) {
      await this.#stream();
      for (let poll = 0; poll < POLLS_BETWEEN_STREAMS && this.#open; poll += 1) {
        await this.poll();
        await this.#sleep(POLL_MS);
      }
    }
  }

  close() {
    this.#open = false;
  }

  /** Asks once, now: after a change that the reader made. */
  async poll() {
    try {
      const asked = KINDS.map((kind) => this.#access.requestJson(`/api/${kind}`));
      const answers = await within(this.#patience, Promise.all(asked));
      if (!this.#streams) this.#setMode("polling");
      KINDS.forEach((kind, index) => this.#emit(kind, answers[index]));
    } catch (error) {
      this.#setMode("offline", error);
    }
  }

  /** Reads the event stream until it breaks; the poll after it finds out whether the gateway answers at all. */
  async #stream() {
    const abort = new AbortController();
    let watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
    try {
      const headers = { accept: "text/event-stream" };
      const response = await this.#access.request("/api/events", { headers, signal: abort.signal });
      for await (const { event, data } of serverEvents(response.body)) {
        clearTimeout(watchdog);
        watchdog = setTimeout(() => abort.abort(), SILENCE_MS);
        if (PUSHED.includes(event)) this.#emit(event, JSON.parse(data));
        this.#streams = true;
        this.#setMode("live");
        if (!this.#open) return;
      }
    } catch {
      return; // why, the poll tells, if it fails, too
    } finally {
      this.#streams = false;
      clearTimeout(watchdog);
    }
  }

  #setMode(mode, error = null) {
    if (mode === this.#mode) return;
    this.#mode = mode;
    this.#emit("mode", { mode, error });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
