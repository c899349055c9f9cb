/**
 * Workers, who waits and who runs, as pushed; and the verbs on them. What ends something asks first.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { byId, h, setText } from "../../shared/page/dom.js";
import { mixedGatewaysText, mixedText, otherBuild } from "./builds.js";
import { FleetLines } from "./fleet-lines.js";
import { KeyedList } from "./keyed-list.js";
import { RequestList } from "./request-list.js";
import { isOnlyServing } from "./serving.js";
import { Summary } from "./summary.js";
import { t } from "../words.js";
import { WorkerCard } from "./worker-card.js";

export class FleetSection {
  #command;
  #known = [];
  #fleet = new FleetLines(byId("fleet"));
  #summary = new Summary(byId("summary"));
  #workers = new KeyedList(byId("workers"), ({ id }) => id, () => new WorkerCard((...steer) => this.#steer(...steer)));
  #queue;
  #running;

  /** @param {(method: string, path: string, said: string, json?: object) => Promise<void>} command sends, and says it when it went well */
  constructor(command) {
    this.#command = command;
    this.#queue = new RequestList("queue", command);
    this.#running = new RequestList("running", command);
  }

  /** @param {object} answer of GET /api/fleet */
  showFleet(answer) {
    this.#fleet.show(answer);
  }

  /** @param {{build?: string, gateways?: object[], workers: object[]}} answer of GET /api/workers */
  showWorkers({ build, gateways, workers }) {
    this.#known = workers;
    byId("workers").removeAttribute("aria-busy");
    const mixed = [mixedText(build, workers), mixedGatewaysText(gateways)].filter((text) => text !== null);
    setText(byId("builds"), mixed.join(" "));
    byId("builds").hidden = mixed.length === 0;
    this.#workers.show(workers.map((worker) => ({ ...worker, otherBuild: otherBuild(build, worker) })));
    if (workers.length === 0) byId("workers").append(this.#fleet.runs ? noneNow() : noWorkers());
    this.#summary.showWorkers(workers);
  }

  /** @param {object} answer of GET /api/queue */
  showQueue({ queue, running, length = queue.length }) {
    this.#queue.show(queue, length);
    this.#running.show(running);
    this.#summary.showQueue(queue, length);
  }

  async #steer({ id, slots_used: used }, verb) {
    if (verb === "drain" && isOnlyServing(id, this.#known)) {
      const sure = { title: t("admin.drainAsk", { id }), text: t("admin.drainText"), verb: t("admin.drain") };
      if (!(await confirmed(sure))) return;
    }
    if (verb === "restart") {
      const text = used ? t("admin.restartBusy", { used }) : t("admin.restartIdle");
      if (!(await confirmed({ title: t("admin.restartAsk", { id }), text, verb: t("admin.restart") }))) return;
    }
    await this.#command("POST", `/api/workers/${encodeURIComponent(id)}/${verb}`, t(`admin.said.${verb}`, { id }));
  }
}

function noneNow() {
  return h("li", { class: "empty" }, h("span", { "data-i18n": "admin.fleetNone" }));
}

function noWorkers() {
  return h(
    "li",
    { class: "empty" },
    h("span", { "data-i18n": "admin.noWorkers" }),
    " ",
    h("code", {}, "voxfleet worker"),
    ", ",
    h("code", {}, "voxfleet gateway --workers"),
  );
}
