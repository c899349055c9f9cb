/**
 * The lamp in the bar: whether the fleet can speak right now, asked every few seconds, and how far a worker is that
 * loads its model.
 */
import { h } from "../page/dom.js";
import { takeEarly } from "./early-answers.js";
import { fleet, forgetConfig } from "./fleet.js";
import { within } from "./patience.js";
import { setLabel, setMessage, t } from "../../i18n/i18n.js";

const INTERVAL_MS = 5000;
const WAITING_MS = 1500;
/** A gateway that says nothing for so long is not there, whatever the browser still hopes for. */
const SILENT_MS = 10_000;
/** What workers say of themselves while they load; anything else is not repeated. */
const STAGES = new Map(
  Object.entries({
    starting: "start",
    importing: "start",
    config: "start",
    download: "download",
    weights: "weights",
    "audio vae": "weights",
    device: "weights",
    graphs: "graphs",
    "warm-up": "warmUp",
  }),
);

export class FleetStatus {
  #words = h("span", {});
  #back;

  /** @param {HTMLElement} place @param {() => void} [back] called when it can speak, after it could not: what could not be had is asked for again */
  constructor(place, back = () => {}) {
    this.#back = back;
    this.lamp = h("p", { class: "lamp", "data-state": "unknown" }, this.#words);
    place.append(this.lamp);
  }

  /** Asks now and again, while the page is visible. */
  async start() {
    await this.#ask();
    const next = () =>
      setTimeout(async () => {
        if (!document.hidden) await this.#ask();
        next();
      }, this.lamp.dataset.state === "waiting" ? WAITING_MS : INTERVAL_MS);
    next();
  }

  async #ask() {
    try {
      this.#show(...(await within(SILENT_MS, state())));
    } catch {
      this.#show("down");
    }
  }

  /** @param {{stage: string, progress: number} | null} [loading] of a worker */
  #show(state, loading = null) {
    const before = this.lamp.dataset.state;
    this.lamp.dataset.state = state;
    const stage = { stage: () => stageName(loading.stage), percent: Math.round(100 * (loading?.progress ?? 0)) };
    const [key, values] = loading ? ["fleet.loading", stage] : [`fleet.${state}`, {}];
    setMessage(this.#words, key, values);
    setLabel(this.lamp, key, values, "title"); // where the bar is too narrow for the words
    if (state !== "ready" || !["waiting", "down"].includes(before)) return;
    forgetConfig(); // it says what the fleet speaks with
    this.#back();
  }
}

/** @returns {Promise<["ready"] | ["waiting", object | null]>} what the gateway says of the fleet */
async function state() {
  const { ok } = await (takeEarly("/ready") ?? fetch("/ready"));
  return ok ? ["ready"] : ["waiting", (await fleet.config()).loading];
}

function stageName(stage) {
  return t(`fleet.stage.${STAGES.get(stage) ?? "other"}`);
}
