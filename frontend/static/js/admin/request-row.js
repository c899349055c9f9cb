/**
 * One waiting or running request, with the button that ends it.
 */
import { h, icon, setText } from "../shared/dom.js";
import { duration } from "../shared/format.js";

/** What is known of a request's progress, in words. */
export function requestFacts({ eta_seconds: eta, waited_seconds: waited, ...rest }) {
  const facts = [
    rest.tenant && `of ${rest.tenant.replace(/^key:/, "")}`,
    rest.priority && rest.priority !== "default" && rest.priority,
    rest.worker_id && `on ${rest.worker_id}`,
    typeof rest.running_seconds === "number" && `for ${duration(rest.running_seconds)}`,
    rest.attempt > 1 && `attempt ${rest.attempt}`,
    typeof waited === "number" && `waited ${duration(waited)}`,
    eta !== undefined && (eta === null ? "start unknown" : `starts in ${duration(Math.ceil(eta))}`),
  ];
  return facts.filter(Boolean).join(" · ");
}

export class RequestRow {
  #request = null;
  #onCancel;
  #place = h("span", { class: "place" });
  #name = h("span", { class: "request-name" });
  #facts = h("span", { class: "request-facts" });
  #button = h("button", { class: "button button-quiet", type: "button", onclick: () => this.#cancel() }, icon("close"), "Cancel");

  /** @param {(request: object) => Promise<void>} onCancel */
  constructor(onCancel) {
    this.#onCancel = onCancel;
    const words = h("div", { class: "request-words" }, this.#name, this.#facts);
    this.element = h("li", { class: "request" }, this.#place, words, this.#button);
  }

  /** @param {object} request as in GET /api/queue, of "queue" or "running" */
  update(request) {
    this.#request = request;
    const { ticket_id: ticket, request_id: id, position } = request;
    this.element.dataset.ticket = ticket;
    setText(this.#place, position ?? "");
    this.#place.classList.toggle("speaking", position === undefined);
    setText(this.#name, id ?? ticket);
    setText(this.#facts, requestFacts(request));
    this.#button.setAttribute("aria-label", `Cancel ${id ?? ticket}`);
    this.#button.hidden = !ticket;
  }

  async #cancel() {
    this.#button.disabled = true;
    try {
      await this.#onCancel(this.#request);
    } finally {
      this.#button.disabled = false;
    }
  }
}
