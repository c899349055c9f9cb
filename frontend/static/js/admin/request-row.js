/**
 * One waiting or running request, with the button that ends it.
 */
import { h, icon, setText } from "../shared/dom.js";
import { duration } from "../shared/format.js";
import { t } from "./words.js";

const MODES = { DUPLEX_ACTIVE: "admin.modeActive", DUPLEX_PAUSED: "admin.modePaused" };

/** What is known of a request's progress, in words. */
export function requestFacts({ eta_seconds: eta, waited_seconds: waited, ...rest }) {
  const facts = [
    rest.mode in MODES && t(MODES[rest.mode]),
    rest.tenant && t("admin.of", { count: rest.tenant.replace(/^key:/, "") }),
    rest.priority && rest.priority !== "default" && rest.priority,
    rest.worker_id && t("admin.onWorker", { worker: rest.worker_id }),
    typeof rest.running_seconds === "number" && t("admin.runningFor", { time: duration(rest.running_seconds) }),
    rest.attempt > 1 && t("admin.attempt", { count: rest.attempt }),
    typeof waited === "number" && t("admin.waited", { time: duration(waited) }),
    eta !== undefined && (eta === null ? t("admin.startUnknown") : t("admin.startsIn", { time: duration(Math.ceil(eta)) })),
  ];
  return facts.filter(Boolean).join(" · ");
}

export class RequestRow {
  #request = null;
  #onEnd;
  #place = h("span", { class: "place" });
  #name = h("span", { class: "request-name" });
  #facts = h("span", { class: "request-facts" });
  #words = h("span", {});
  #button = h("button", { class: "button button-quiet", type: "button", onclick: () => this.#end() }, icon("close"), this.#words);

  /** @param {(request: object) => Promise<void>} onEnd asks, and ends the request */
  constructor(onEnd) {
    this.#onEnd = onEnd;
    const words = h("div", { class: "request-words" }, this.#name, this.#facts);
    this.element = h("li", { class: "request" }, this.#place, words, this.#button);
  }

  /** @param {object} request as in GET /api/queue, of "queue" or "running" */
  update(request) {
    this.#request = request;
    const { ticket_id: ticket, request_id: id, position, mode } = request;
    const running = position === undefined;
    this.element.dataset.ticket = ticket;
    this.element.dataset.mode = mode ?? "";
    setText(this.#place, position ?? "");
    this.#place.classList.toggle("speaking", running);
    setText(this.#name, id ?? ticket);
    setText(this.#facts, requestFacts(request));
    setText(this.#words, t(running ? "admin.stop" : "admin.cancel"));
    this.#button.setAttribute("aria-label", `${this.#words.textContent} ${id ?? ticket}`);
    this.#button.hidden = !ticket;
  }

  async #end() {
    this.#button.disabled = true;
    try {
      await this.#onEnd(this.#request);
    } finally {
      this.#button.disabled = false;
    }
  }
}
