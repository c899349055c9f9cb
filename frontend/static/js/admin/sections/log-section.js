/**
 * The event log: who came and went, what was changed; new lines as they happen, a filter by kind and by words.
 */
import { byId, h } from "../../shared/page/dom.js";
import { EventLines } from "./event-lines.js";
import { kindOf, messageOf, textOf } from "./event-words.js";
import { Section } from "./section.js";
import { has, locale, t } from "../words.js";

const PAGE_LINES = 100;

export class LogSection extends Section {
  #lines = new EventLines();
  #family = byId("log-kind");
  #words = byId("log-words");
  #older = byId("log-older");

  constructor(page) {
    super("log", `/api/log?limit=${PAGE_LINES}`, page);
    this.#family.addEventListener("change", () => this.#draw());
    this.#words.addEventListener("input", () => this.#draw());
    this.#older.addEventListener("click", () => this.#loadOlder());
    window.addEventListener("languageset", () => this.#draw());
  }

  /** @param {{events: object[], next_before?: number | null}} answer of GET /api/log, or of the event "log" */
  show({ events, next_before: before }) {
    this.element.hidden = false;
    this.#lines.add(events);
    if (before !== undefined) this.#older.hidden = before === null;
    this.#draw();
  }

  async #loadOlder() {
    const response = await this.send("GET", `/api/log?limit=${PAGE_LINES}&before=${this.#lines.oldestId}`);
    if (response) this.show(await response.json());
  }

  #draw() {
    this.#drawFamilies();
    const shown = this.#lines.filtered(this.#family.value, this.#words.value, textOf);
    const rows = shown.flatMap((line, index) => (sameDay(line, shown[index - 1]) ? [row(line)] : [dayOf(line), row(line)]));
    this.body.replaceChildren(...rows);
    if (rows.length === 0) this.body.append(h("li", { class: "quiet log-none" }, t("admin.logNone")));
  }

  #drawFamilies() {
    const wanted = ["", ...this.#lines.families];
    const options = [...this.#family.options];
    if (options.map(({ value }) => value).join() === wanted.join()) return;
    const chosen = this.#family.value;
    this.#family.replaceChildren(
      h("option", { value: "", "data-i18n": "admin.logAll" }),
      ...wanted.slice(1).map((family) => h("option", { value: family, "data-i18n": named(`admin.family.${family}`) }, family)),
    );
    this.#family.value = wanted.includes(chosen) ? chosen : "";
  }
}

/** The key of a message, where the language has it. */
function named(key) {
  return has(key) ? key : null;
}

function sameDay({ at }, before) {
  return before !== undefined && new Date(at).toDateString() === new Date(before.at).toDateString();
}

/** The line above the events of a day. */
function dayOf({ at }) {
  const day = new Date(at).toLocaleDateString(locale(), { weekday: "long", year: "numeric", month: "long", day: "numeric" });
  return h("li", { class: "log-day" }, h("time", { datetime: at.slice(0, 10) }, day));
}

function row(line) {
  const { at, kind, subject } = line;
  const time = new Date(at);
  return h(
    "li",
    { class: "log-line", "data-kind": kind },
    h("time", { datetime: at, title: time.toLocaleString(locale()) }, time.toLocaleTimeString(locale())),
    h("span", { class: "log-kind" }, kindOf(line)),
    h("span", { class: "log-text" }, h("b", {}, subject), " ", messageOf(line)),
  );
}
