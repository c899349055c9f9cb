/**
 * One worker: state, slots, what it serves and on what, how it does; drain, resume and restart.
 */
import { h, setText } from "../../shared/page/dom.js";
import { bytes, duration, integer, latency, ratio } from "../../i18n/format.js";
import { t } from "../words.js";

const MAX_PIPS = 16;
const ANSWERING = ["IDLE", "BUSY", "DRAINING"];

/** Facts under the slots, key of the label and text: those that lead, and those that are folded. */
const LEADING = 3;
const FACTS = [
  ["admin.model", ({ model }) => model ?? "–"],
  ["admin.device", ({ device }) => device ?? "–"],
  ["admin.firstAudioP95", ({ first_audio_p95_seconds: seconds }) => latency(seconds)],
  ["admin.firstAudioP50", ({ first_audio_p50_seconds: seconds }) => latency(seconds)],
  ["admin.memory", memoryText],
  ["admin.rtf", ({ rtf_p50: rtf }) => ratio(rtf)],
  ["admin.batch", ({ batch_size: batch }) => integer(batch)],
  ["admin.queueLength", ({ queue_length: length }) => integer(length)],
  ["admin.up", ({ uptime_seconds: seconds }) => duration(seconds)],
  ["admin.requests", ({ counters }) => integer(counters?.requests)],
  ["admin.speech", ({ counters }) => duration(counters?.audio_seconds)],
  ["admin.migrations", ({ migrations }) => integer(migrations)],
  ["admin.flaws", ({ flaws }) => integer(flaws)],
  ["admin.cancelled", ({ counters }) => integer(counters?.cancelled)],
  ["admin.errors", ({ errors, counters }) => integer(errors ?? counters?.errors)],
  ["admin.step", ({ step }) => integer(step)],
  ["admin.cache", ({ counters }) => cacheText(counters ?? {})],
  ["admin.cacheMoved", ({ counters }) => movedText(counters ?? {})],
];

function memoryText({ memory_bytes: host, device_memory_bytes: device }) {
  return device ? `${bytes(host)} · ${bytes(device)}` : bytes(host);
}

/** How much of what requests began with was in the cache, on the device and on the host: "62 % · 5 %". */
export function cacheText({ kv_device_positions: device, kv_host_positions: host, kv_computed_positions: computed }) {
  const all = device + host + computed;
  if (!(all > 0)) return "–";
  return [device, host].map((found) => `${Math.round((100 * found) / all)} %`).join(" · ");
}

/** What of the cache went to the host, and came back; "–" where nothing did. */
export function movedText({ kv_stored_bytes: out, kv_brought_bytes: back }) {
  return out ? `${bytes(out)} · ${bytes(back)}` : "–";
}

/** What is wrong or going on, in words, or null. */
export function remark({ state, error, last_failure: failure, loading, restarting }) {
  if (restarting) return t("admin.remarkRestarting");
  if (state === "LOADING" && loading) {
    return t("admin.remarkLoading", { stage: loading.stage, percent: Math.round(100 * loading.progress) });
  }
  if (state === "ERROR") return error ?? t("admin.remarkError");
  if (state === "DOWN") return failure ?? t("admin.remarkDown");
  if (state === "DRAINING") return t("admin.remarkDraining");
  return null;
}

/** "2 live, 1 paused", "3 of other gateways", both, or "". */
export function slotUses({ live_active: active = 0, live_paused: paused = 0, slots_of_others: others = 0 }) {
  const words = [];
  if (active || paused) words.push(paused ? t("admin.livePaused", { active, paused }) : t("admin.liveActive", { active }));
  if (others) words.push(t("admin.slotsOfOthers", { others }));
  return words.join(" · ");
}

function factList(facts) {
  return h("dl", { class: "facts" }, facts.map(({ label, value }) => h("div", {}, h("dt", { "data-i18n": label }), value)));
}

export class WorkerCard {
  #worker = null;
  #onSteer;
  #name = h("h3", {});
  #url = h("p", { class: "worker-url" });
  #build = h("p", { class: "worker-url" });
  #state = h("span", { class: "state" });
  #drain = h("button", { class: "button", type: "button", onclick: () => this.#steer(this.#drain, this.#verb) });
  #restart = h("button", { class: "button button-quiet", type: "button", onclick: () => this.#steer(this.#restart, "restart") });
  #pips = h("span", { class: "pips", "aria-hidden": "true" });
  #slots = h("span", { class: "slots-words" });
  #live = h("span", { class: "slots-live" });
  #remark = h("p", { class: "remark" });
  #bar = h("progress", { max: 1, "data-i18n-label": "admin.loading" });
  #facts = FACTS.map(([label, text]) => ({ label, text, value: h("dd", {}) }));

  /** @param {(worker: object, verb: "drain" | "resume" | "restart") => Promise<void>} onSteer */
  constructor(onSteer) {
    this.#onSteer = onSteer;
    this.element = h(
      "li",
      { class: "worker" },
      h("header", { class: "worker-head" }, h("div", {}, this.#name, this.#url, this.#build), this.#state),
      h("div", { class: "slots" }, this.#pips, h("span", { class: "slots-text" }, this.#slots, this.#live)),
      this.#remark,
      this.#bar,
      factList(this.#facts.slice(0, LEADING)),
      h(
        "details",
        { class: "drawer worker-more" },
        h("summary", {}, h("span", { "data-i18n": "admin.allFigures" })),
        factList(this.#facts.slice(LEADING)),
      ),
      h("div", { class: "worker-verbs" }, this.#restart, this.#drain),
    );
  }

  /** @param {object} worker as in GET /api/workers, and `otherBuild`, what is said of its build */
  update(worker) {
    this.#worker = worker;
    const { id, url, state, slots_total: total, slots_used: used, loading, error } = worker;
    this.element.dataset.worker = id;
    this.element.dataset.state = state;
    setText(this.#name, id);
    setText(this.#url, url);
    setText(this.#build, worker.otherBuild);
    this.#build.hidden = worker.otherBuild === "";
    setText(this.#state, t(`admin.state${state}`));
    setText(this.#slots, t("admin.slots", { used, total }));
    setText(this.#live, slotUses(worker));
    this.#showPips(used, total);
    setText(this.#remark, remark(worker) ?? "");
    this.#remark.hidden = this.#remark.textContent === "";
    this.element.classList.toggle("failed", state === "DOWN" || state === "ERROR" || Boolean(error));
    this.#bar.hidden = !(state === "LOADING" && loading);
    this.#bar.value = loading?.progress ?? 0;
    this.#showButtons(state);
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

  #showButtons(state) {
    const { id, restarting, supervised } = this.#worker;
    const words = t(`admin.${this.#verb}`);
    setText(this.#drain, words);
    this.#drain.setAttribute("aria-label", `${words} ${id}`);
    this.#drain.hidden = !ANSWERING.includes(state) || Boolean(restarting);
    setText(this.#restart, t("admin.restart"));
    this.#restart.setAttribute("aria-label", `${t("admin.restart")} ${id}`);
    // One without a supervisor would not be started again.
    this.#restart.hidden = !supervised || Boolean(restarting) || ![...ANSWERING, "ERROR"].includes(state);
  }

  async #steer(button, verb) {
    button.disabled = true;
    try {
      await this.#onSteer(this.#worker, verb);
    } finally {
      button.disabled = false;
    }
  }
}
