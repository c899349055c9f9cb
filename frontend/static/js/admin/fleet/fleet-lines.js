/** How many workers of each kind run, where `voxfleet fleet` decides that, and what it decided last. */
import { h } from "../../shared/page/dom.js";
import { messageOf } from "../sections/event-words.js";
import { t } from "../words.js";

export class FleetLines {
  #element;
  #answer = { fleet: null, last: null };

  constructor(element) {
    this.#element = element;
    globalThis.addEventListener("languageset", () => this.#draw());
  }

  /** Whether workers are started by need. */
  get runs() {
    return this.#answer.fleet !== null;
  }

  /** @param {{fleet: object | null, last: object | null}} answer of GET /api/fleet */
  show(answer) {
    if (JSON.stringify(answer) === JSON.stringify(this.#answer)) return;
    this.#answer = answer;
    this.#draw();
  }

  #draw() {
    const { fleet, last } = this.#answer;
    this.#element.hidden = fleet === null;
    const said = last && t("admin.fleetLast", { kind: last.kind, said: messageOf(last) });
    const lines = [...(fleet?.kinds ?? []).map(lineOf), ...(said ? [said] : [])];
    this.#element.replaceChildren(...lines.map((line) => h("li", {}, line)));
  }
}

function lineOf(kind) {
  const line = t(kind.scaled === null ? "admin.fleetByNeed" : "admin.fleetOrdered", kind);
  return kind.unplaced ? line + t("admin.fleetUnplaced", kind) : line;
}
