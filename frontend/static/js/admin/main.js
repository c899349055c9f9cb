/**
 * The admin page: the live feed shown as figures, worker cards and two lists, and the three verbs
 * drain, resume and cancel.
 */
import { byId, h, icon, setText } from "../shared/dom.js";
import { integer } from "../shared/format.js";
import { mountNav } from "../shared/nav.js";
import { AdminAccess } from "./access.js";
import { KeyedList } from "./keyed-list.js";
import { LiveFeed } from "./live-feed.js";
import { RequestRow } from "./request-row.js";
import { Summary } from "./summary.js";
import { askForToken } from "./token-sheet.js";
import { WorkerCard } from "./worker-card.js";

const MAX_ROWS = 50;

const MODES = {
  live: ["ready", "Live"],
  polling: ["waiting", "Every 2 s"],
  offline: ["down", "No connection"],
};

class Admin {
  #access = new AdminAccess(askForToken);
  #feed = new LiveFeed(this.#access);
  #summary = new Summary(byId("summary"));
  #mode = h("span", {});
  #lamp = h("p", { class: "lamp", "data-state": "unknown" }, this.#mode);
  #workers = new KeyedList(byId("workers"), ({ id }) => id, () => new WorkerCard((...steer) => this.#steer(...steer)));
  #queue = this.#requestList("queue");
  #running = this.#requestList("running");

  async open() {
    mountNav(byId("nav")).append(this.#lamp);
    this.#feed.addEventListener("workers", ({ detail }) => this.#showWorkers(detail.workers));
    this.#feed.addEventListener("queue", ({ detail }) => this.#showQueue(detail));
    this.#feed.addEventListener("mode", ({ detail }) => this.#showMode(detail));
    await this.#feed.run();
  }

  #requestList(id) {
    const keyOf = ({ ticket_id: ticket, request_id: request }) => ticket ?? request;
    return new KeyedList(byId(id), keyOf, () => new RequestRow((request) => this.#cancel(request)));
  }

  #showWorkers(workers) {
    byId("workers").removeAttribute("aria-busy");
    this.#workers.show(workers);
    if (workers.length === 0) byId("workers").append(noWorkers());
    this.#summary.showWorkers(workers);
  }

  #showQueue({ queue, running, length = queue.length }) {
    this.#queue.show(queue.slice(0, MAX_ROWS));
    this.#running.show(running.slice(0, MAX_ROWS));
    byId("queue-empty").hidden = queue.length > 0;
    byId("running-empty").hidden = running.length > 0;
    showMore(byId("queue-more"), length);
    showMore(byId("running-more"), running.length);
    this.#summary.showQueue(queue, length);
  }

  #showMode({ mode, error }) {
    const [lamp, words] = MODES[mode];
    this.#lamp.dataset.state = lamp;
    setText(this.#mode, words);
    if (mode === "offline") this.#showProblem(error.message);
    else this.#hideProblem();
  }

  #showProblem(message) {
    byId("problem").replaceChildren(icon("warning"), h("p", {}, message));
    byId("problem").hidden = false;
  }

  #hideProblem() {
    byId("problem").hidden = true;
  }

  #steer({ id }, verb) {
    const said = { drain: `${id} is draining.`, resume: `${id} takes requests again.` }[verb];
    return this.#command("POST", `/api/workers/${encodeURIComponent(id)}/${verb}`, said);
  }

  #cancel({ ticket_id: ticket }) {
    return this.#command("DELETE", `/api/queue/${encodeURIComponent(ticket)}`, `${ticket} is cancelled.`);
  }

  async #command(method, path, said) {
    this.#hideProblem();
    try {
      await this.#access.request(path, { method });
      setText(byId("status"), said);
      await this.#feed.poll();
    } catch (error) {
      this.#showProblem(error.message);
    }
  }
}

/** Says how many requests a list of MAX_ROWS leaves out. */
function showMore(element, total) {
  element.hidden = total <= MAX_ROWS;
  setText(element, `and ${integer(total - MAX_ROWS)} more`);
}

function noWorkers() {
  return h(
    "li",
    { class: "empty" },
    "No worker is known to this gateway. Start one with ",
    h("code", {}, "voxfleet worker"),
    " and name its address in ",
    h("code", {}, "voxfleet gateway --workers"),
    ".",
  );
}

new Admin().open();
