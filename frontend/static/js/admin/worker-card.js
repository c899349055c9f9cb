/**
 * One worker: state, slots, what it serves and on what, its counters, and drain or resume.
 */
import { h, setText } from "../shared/dom.js";
import { bytes, duration, integer } from "../shared/format.js";

const MAX_PIPS = 16;

/** Facts under the slots: label and text. */
const FACTS = [
  ["Model", ({ model }) => model ?? "–"],
  ["Device", ({ device }) => device ?? "–"],
  ["Memory", memoryText],
  ["Up", ({ uptime_seconds: seconds }) => duration(seconds)],
  ["Engine step", ({ step }) => integer(step)],
  ["Requests", ({ counters }) => integer(counters?.requests)],
  ["Speech made", ({ counters }) => duration(counters?.audio_seconds)],
  ["Cancelled", ({ counters }) => integer(counters?.cancelled)],
  ["Errors", ({ counters }) => integer(counters?.errors)],
];

function memoryText({ memory_bytes: host, device_memory_bytes: device }) {
  return device ? `${bytes(host)} · device ${bytes(device)}` : bytes(host);
}

/** What is wrong or going on, in words, or null. */
export function remark({ state, error, last_failure: failure, loading }) {
  if (state === "LOADING" && loading) return `Loading ${loading.stage}, ${Math.round(100 * loading.progress)} %`;
  if (state === "ERROR") return error ?? "The engine failed.";
  if (state === "DOWN") return failure ?? "It does not answer.";
  if (state === "DRAINING") return "Finishing what runs; takes nothing new.";
  return null;
}

export class WorkerCard {
  #worker = null;
  #onSteer;
  #name = h("h3", {});
  #url = h("p", { class: "worker-url" });
  #state = h("span", { class: "state" });
  #button = h("button", { class: "button", type: "button", onclick: () => this.#steer() });
  #pips = h("span", { class: "pips", "aria-hidden": "true" });
  #slots = h("span", { class: "slots-words" });
  #remark = h("p", { class: "remark" });
  #bar = h("progress", { max: 1, "aria-label": "Loading" });
  #facts = FACTS.map(([label, text]) => ({ label, text, value: h("dd", {}) }));

  /** @param {(worker: object, verb: "drain" | "resume") => Promise<void>} onSteer */
  constructor(onSteer) {
    this.#onSteer = onSteer;
    this.element = h(
      "li",
      { class: "worker" },
      h("header", { class: "worker-head" }, h("div", {}, this.#name, this.#url), this.#state),
      h("div", { class: "slots" }, this.#pips, this.#slots, this.#button),
      this.#remark,
      this.#bar,
      h("dl", { class: "facts" }, this.#facts.map(({ label, value }) => h("div", {}, h("dt", {}, label), value))),
    );
  }

  /** @param {object} worker as in GET /api/workers */
  update(worker) {
    this.#worker = worker;
    const { id, url, state, slots_total: total, slots_used: used, loading, error } = worker;
    this.element.dataset.worker = id;
    this.element.dataset.state = state;
    setText(this.#name, id);
    setText(this.#url, url);
    setText(this.#state, state.toLowerCase());
    setText(this.#slots, `${used} of ${total} slots used`);
    this.#showPips(used, total);
    setText(this.#remark, remark(worker) ?? "");
    this.#remark.hidden = this.#remark.textContent === "";
    this.element.classList.toggle("failed", state === "DOWN" || state === "ERROR" || Boolean(error));
    this.#bar.hidden = !(state === "LOADING" && loading);
    this.#bar.value = loading?.progress ?? 0;
    this.#showButton(state);
    for (const { text, value } of this.#facts) setText(value, text(worker));
  }

  /** One pip per slot; of many slots each pip stands for several. */
  #showPips(used, total) {
    const shown = Math.min(total, MAX_PIPS);
    if (this.#pips.children.length !== shown) {
      this.#pips.replaceChildren(...Array.from({ length: shown }, () => h("i", {})));
    }
    const on = Math.ceil((used * shown) / total);
    [...this.#pips.children].forEach((pip, index) => pip.classList.toggle("on", index < on));
  }

  get #verb() {
    return this.#worker.state === "DRAINING" ? "resume" : "drain";
  }

  #showButton(state) {
    const words = this.#verb === "drain" ? "Drain" : "Resume";
    setText(this.#button, words);
    this.#button.setAttribute("aria-label", `${words} ${this.#worker.id}`);
    this.#button.hidden = !["IDLE", "BUSY", "DRAINING"].includes(state);
  }

  async #steer() {
    this.#button.disabled = true;
    try {
      await this.#onSteer(this.#worker, this.#verb);
    } finally {
      this.#button.disabled = false;
    }
  }
}
