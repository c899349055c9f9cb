/**
 * The lamp in the bar: whether the fleet can speak right now, asked every few seconds.
 */
import { h, setText } from "../shared/dom.js";

const INTERVAL_MS = 5000;

export class FleetStatus {
  #words = h("span", {});

  /** @param {HTMLElement} place */
  constructor(place) {
    this.lamp = h("p", { class: "lamp", "data-state": "unknown" }, this.#words);
    place.append(this.lamp);
  }

  /** Asks now and again, while the page is visible. */
  async start() {
    await this.#ask();
    setInterval(() => {
      if (!document.hidden) this.#ask();
    }, INTERVAL_MS);
  }

  async #ask() {
    try {
      const { ok } = await fetch("/ready");
      this.#show(ok ? "ready" : "waiting", ok ? "Ready" : "No worker ready");
    } catch {
      this.#show("down", "Gateway unreachable");
    }
  }

  #show(state, words) {
    this.lamp.dataset.state = state;
    setText(this.#words, words);
  }
}
