/**
 * What the service hears in a take: asked for when there is one, and again when another part of it is kept.
 *
 * Event "change": `state` is another one.
 */
import { fleet } from "../../shared/service/fleet.js";

const SETTLED_MS = 500;

/**
 * Stretches of a take to be marked.
 * @param {{severity: string, regions?: {start_seconds: number, end_seconds: number}[]}[]} checks
 * @param {number} from second of the take at which what was examined begins
 * @returns {{from: number, to: number}[]}
 */
export function marksOf(checks, from = 0) {
  const bad = checks.filter(({ severity }) => severity !== "info");
  return bad.flatMap(({ regions = [] }) => regions.map(({ start_seconds: start, end_seconds: end }) => ({ from: start + from, to: end + from })));
}

export class Examination extends EventTarget {
  #asked = null;
  #timer = null;

  /** {state: "none" | "asking"}, {state: "told", from, audio_seconds, ...} or {state: "failed", error} */
  state = { state: "none" };

  /**
   * Asks about the part of a take that is kept. @param {import("./take.js").Take} take
   * @param {{soon?: boolean, denoise?: boolean}} [how] soon: once it rests; denoise: without the noise in it
   */
  ask(take, { soon = false, denoise = false } = {}) {
    this.drop();
    this.#set({ state: "asking" });
    this.#timer = setTimeout(() => this.#send(take, denoise), soon ? SETTLED_MS : 0);
  }

  /** Forgets what was asked. */
  drop() {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.#asked = null;
    this.#set({ state: "none" });
  }

  async #send(take, denoise) {
    const asked = (this.#asked = new AbortController());
    const { from } = take;
    const answer = await fleet.checkRecording(take.wav(), { denoise, signal: asked.signal }).then(
      (heard) => ({ state: "told", from, ...heard }),
      (error) => ({ state: "failed", error }),
    );
    if (asked === this.#asked) this.#set(answer);
  }

  #set(state) {
    this.state = state;
    this.dispatchEvent(new Event("change"));
  }
}
