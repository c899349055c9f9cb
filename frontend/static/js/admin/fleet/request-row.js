/**
 * One waiting or running request: what is spoken for whom, with the button that ends it and a box to choose it.
 */
import { h, icon, setText } from "../../shared/page/dom.js";
import { duration, integer } from "../../i18n/format.js";
import { nameOfVoice } from "../../voices/voice-names.js";
import { has, setLabel, t } from "../words.js";

const MODES = { DUPLEX_ACTIVE: "admin.modeActive", DUPLEX_PAUSED: "admin.modePaused" };

/** The way by which a request came, in words. */
export function protocolName(protocol) {
  const key = `admin.protocol.${protocol}`;
  return has(key) ? t(key) : protocol;
}

/** Whose it is: the name of a key, or an address. */
export function tenantName(tenant) {
  return tenant.replace(/^key:/, "");
}

/** The voice and how much it says; of a gateway that does not tell, the request's number. */
export function requestName({ voice, characters, request_id: id, ticket_id: ticket }) {
  if (!voice) return id ?? ticket;
  const name = nameOfVoice(voice);
  return typeof characters === "number" ? `${name} · ${t("admin.characters", { count: integer(characters) })}` : name;
}

/** What is known of a request's progress, in words. */
export function requestFacts({ eta_seconds: eta, waited_seconds: waited, ...rest }) {
  const facts = [
    rest.mode in MODES && t(MODES[rest.mode]),
    rest.protocol && protocolName(rest.protocol),
    rest.client,
    rest.tenant && t("admin.of", { count: tenantName(rest.tenant) }),
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
  #box;
  #place = h("span", { class: "place" });
  #name = h("span", { class: "request-name" });
  #facts = h("span", { class: "request-facts" });
  #words = h("span", {});
  #button = h("button", { class: "button button-quiet", type: "button", onclick: () => this.#end() }, icon("close"), this.#words);

  /**
   * @param {(request: object) => Promise<void>} onEnd asks, and ends the request
   * @param {(ticket: string, chosen: boolean) => void} onChoose
   */
  constructor(onEnd, onChoose) {
    this.#onEnd = onEnd;
    this.#box = h("input", { type: "checkbox", class: "request-box", onchange: () => onChoose(this.#request.ticket_id, this.#box.checked) });
    const words = h("div", { class: "request-words" }, this.#name, this.#facts);
    this.element = h("li", { class: "request" }, h("label", { class: "request-choice" }, this.#box), this.#place, words, this.#button);
  }

  /** @param {object} request as in GET /api/queue, of "queue" or "running" */
  update(request) {
    this.#request = request;
    const { ticket_id: ticket, request_id: id, position, mode } = request;
    const running = position === undefined;
    const name = requestName(request);
    this.element.dataset.ticket = ticket;
    this.element.dataset.mode = mode ?? "";
    setText(this.#place, position ?? "");
    this.#place.classList.toggle("speaking", running);
    setText(this.#name, name);
    this.#name.title = id ?? ticket ?? "";
    setText(this.#facts, requestFacts(request));
    setText(this.#words, t(running ? "admin.stop" : "admin.cancel"));
    this.#button.setAttribute("aria-label", `${this.#words.textContent} ${name}`);
    setLabel(this.#box, "admin.choose", { name });
    this.#button.hidden = this.#box.hidden = !ticket;
  }

  set chosen(chosen) {
    this.#box.checked = chosen;
    this.element.classList.toggle("chosen", chosen);
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
