/**
 * Workers, who waits and who runs, as pushed; and the verbs on them. What ends something asks first.
 */
import { confirmed } from "../shared/confirm.js";
import { byId, h, setText } from "../shared/dom.js";
import { integer } from "../shared/format.js";
import { KeyedList } from "./keyed-list.js";
import { RequestRow } from "./request-row.js";
import { isOnlyServing } from "./serving.js";
import { Summary } from "./summary.js";
import { t } from "./words.js";
import { WorkerCard } from "./worker-card.js";

const MAX_ROWS = 50;

export class FleetSection {
  #command;
  #known = [];
  #summary = new Summary(byId("summary"));
  #workers = new KeyedList(byId("workers"), ({ id }) => id, () => new WorkerCard((...steer) => this.#steer(...steer)));
  #queue = this.#requestList("queue");
  #running = this.#requestList("running");

  /** @param {(method: string, path: string, said: string) => Promise<void>} command sends, and says it when it went well */
  constructor(command) {
    this.#command = command;
  }

  #requestList(id) {
    const keyOf = ({ ticket_id: ticket, request_id: request }) => ticket ?? request;
    return new KeyedList(byId(id), keyOf, () => new RequestRow((request) => this.#end(request)));
  }

  /** @param {object[]} workers of GET /api/workers */
  showWorkers(workers) {
    this.#known = workers;
    byId("workers").removeAttribute("aria-busy");
    this.#workers.show(workers);
    if (workers.length === 0) byId("workers").append(noWorkers());
    this.#summary.showWorkers(workers);
  }

  /** @param {object} answer of GET /api/queue */
  showQueue({ queue, running, length = queue.length }) {
    this.#queue.show(queue.slice(0, MAX_ROWS));
    this.#running.show(running.slice(0, MAX_ROWS));
    byId("queue-empty").hidden = queue.length > 0;
    byId("running-empty").hidden = running.length > 0;
    showMore(byId("queue-more"), length);
    showMore(byId("running-more"), running.length);
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

  async #end({ ticket_id: ticket, request_id: request, position }) {
    const running = position === undefined;
    const sure = {
      title: t(running ? "admin.stopAsk" : "admin.cancelAsk"),
      text: t(running ? "admin.stopText" : "admin.cancelText", { request: request ?? ticket }),
      verb: t(running ? "admin.stop" : "admin.cancelVerb"),
      keep: t(running ? "admin.letSpeak" : "admin.letWait"),
    };
    if (!(await confirmed(sure))) return;
    await this.#command("DELETE", `/api/queue/${encodeURIComponent(ticket)}`, t("admin.said.ended", { request: request ?? ticket }));
  }
}

/** Says how many requests a list of MAX_ROWS leaves out. */
function showMore(element, total) {
  element.hidden = total <= MAX_ROWS;
  setText(element, t("admin.more", { count: integer(total - MAX_ROWS) }));
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
