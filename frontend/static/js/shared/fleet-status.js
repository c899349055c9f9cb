/**
 * The lamp in the bar: whether the fleet can speak right now, asked every few seconds.
 *
 * Event "ready" tells that it can, after it could not.
 */
import { h } from "./dom.js";
import { setMessage } from "./i18n.js";

const INTERVAL_MS = 5000;

export class FleetStatus extends EventTarget {
  #words = h("span", {});

  /** @param {HTMLElement} place */
  constructor(place) {
    super();
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
      this.#show(ok ? "ready" : "waiting");
    } catch {
      this.#show("down");
    }
  }

  #show(state) {
    const before = this.lamp.dataset.state;
    this.lamp.dataset.state = state;
    setMessage(this.#words, `fleet.${state}`);
    if (state === "ready" && ["waiting", "down"].includes(before)) this.dispatchEvent(new Event("ready"));
  }
}
