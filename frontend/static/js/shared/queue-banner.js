/**
 * The banner of a request that waits for a worker: its place in line, a countdown, a way out.
 */
import { h, icon, setText } from "../shared/dom.js";
import { ordinal } from "../shared/format.js";
import { Countdown } from "./countdown.js";

const TICK_MS = 250;
const now = () => performance.now() / 1000;

export class QueueBanner {
  #countdown = new Countdown();
  #timer = null;
  #place = h("strong", { class: "queue-place" });
  #wait = h("span", { class: "queue-wait" });

  /** @param {HTMLElement} element shown while queued @param {() => void} onLeave */
  constructor(element, onLeave) {
    this.element = element;
    element.append(
      h("span", { class: "queue-lamp", "aria-hidden": "true" }),
      h("p", { class: "queue-text" }, this.#place, this.#wait),
      h("button", { class: "button button-quiet", type: "button", onclick: onLeave }, icon("close"), "Leave"),
    );
  }

  /** @param {{position: number, eta_seconds: number | null}} news */
  show({ position, eta_seconds: etaSeconds = null }) {
    this.#countdown.update(etaSeconds, now());
    setText(this.#place, position === 1 ? "You are next" : `You are ${ordinal(position)} in line`);
    this.element.hidden = false;
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  hide() {
    this.element.hidden = true;
    clearInterval(this.#timer);
    this.#timer = null;
    this.#countdown = new Countdown();
  }

  #tick() {
    const seconds = this.#countdown.remaining(now());
    if (seconds === null) setText(this.#wait, "waiting for a worker");
    else setText(this.#wait, seconds > 0 ? `about ${seconds} s` : "any moment now");
    this.element.dataset.seconds = seconds ?? "";
  }
}
