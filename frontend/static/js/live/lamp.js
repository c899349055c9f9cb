/**
 * What the session is doing: a lamp with a word, the time since it went live, and beside it what is to come.
 */
import { setText } from "../shared/page/dom.js";
import { minutes } from "../i18n/format.js";
import { setMessage } from "./words.js";

const TICK_MS = 200;
const now = () => performance.now() / 1000;

export class Lamp {
  #elements;
  #conversation;

  /** @param {{lamp: HTMLElement, words: HTMLElement, elapsed: HTMLElement, note: HTMLElement}} elements */
  constructor(elements, conversation) {
    this.#elements = elements;
    this.#conversation = conversation;
    setInterval(() => this.#tick(), TICK_MS);
  }

  /** Shows the conversation's state. */
  show() {
    const { state } = this.#conversation;
    this.#elements.lamp.dataset.state = state;
    setMessage(this.#elements.words, `live.state.${state}`);
    this.#tick();
  }

  /** What stands beside the lamp: message and values. */
  #note() {
    const { state, facts, busy } = this.#conversation;
    const closing = facts.closesAt && ["live", "released"].includes(state);
    if (closing) return ["live.idleNote", { time: minutes(facts.closesAt - now()) }];
    if (state === "released") return [facts.releaseReason === "pause" ? "live.releasedNote" : "live.idleReleasedNote", {}];
    if (state === "paused") return ["live.pausedNote", { time: this.#untilRelease() }];
    if (facts.workerId && busy) return ["live.onWorker", { worker: facts.workerId }];
    return ["text.plain", { text: "" }];
  }

  #untilRelease() {
    const { releaseAt } = this.#conversation.facts;
    return releaseAt ? minutes(releaseAt - now()) : "–";
  }

  #tick() {
    const { liveAt, endedAt } = this.#conversation.facts;
    setText(this.#elements.elapsed, liveAt === undefined ? "" : minutes(Math.floor((endedAt ?? now()) - liveAt)));
    setMessage(this.#elements.note, ...this.#note());
  }
}
