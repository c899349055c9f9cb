/**
 * A graph over time: axes, lines, a cursor for pointer and keyboard, and the same as a table.
 *
 *   const graph = new Graph({ title: "admin.graph.load", series: [{ key: "used", label: "admin.graph.used" }], format: integer });
 *   section.append(graph.element);
 *   graph.show({ points: [{ at: 1800000000, used: 2 }], from, to, span_seconds: 10 });
 *
 * The plot is a slider over its points: arrow keys, Page keys, Home and End move the cursor, and what a screen reader
 * says is what stands beside it.
 */
import { h } from "../../shared/page/dom.js";
import { areaOf, linesAndDots, nearest, pathOf, runsOf, timeTicks, valueTicks } from "./graph-scale.js";
import { locale, t } from "../words.js";

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 190;
const EDGE = { top: 10, right: 10, bottom: 24, left: 52 };
const TICK_WIDTH = 84;
const PAGE_POINTS = 10;
const DAY_SECONDS = 86400;

const drawn = (tag, attributes, ...children) => {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

export class Graph {
  #series;
  #format;
  #title;
  #least;
  #whole;
  #answer = null;
  #cursor = null;
  #width = 0;
  #svg = drawn("svg", { class: "graph-svg", "aria-hidden": "true" });
  #bubble = h("div", { class: "graph-bubble", "aria-hidden": "true", hidden: true });
  #none = h("p", { class: "graph-none", "data-i18n": "admin.graph.none", hidden: true });
  #plot;
  #legend = h("ul", { class: "graph-legend" });
  #table = h("table", { class: "graph-table" });
  #details;

  /**
   * @param {object} options
   * @param {string} options.title key of its message
   * @param {{key: string, label: string, area?: boolean}[]} options.series
   * @param {(value: number | null) => string} options.format
   * @param {number} [options.least] of the highest tick @param {boolean} [options.whole] ticks without fractions
   */
  constructor({ title, series, format, least = 1, whole = false }) {
    this.#title = title;
    this.#series = series;
    this.#format = format;
    this.#least = least;
    this.#whole = whole;
    this.#plot = h(
      "div",
      { class: "graph-plot", role: "slider", tabindex: 0, "data-i18n-label": title, "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0 },
      this.#svg,
      this.#none,
      this.#bubble,
    );
    const summary = h("summary", { "data-i18n": "admin.graph.asTable" });
    this.#details = h("details", { class: "graph-details" }, summary, h("div", { class: "graph-scroll", tabindex: 0, role: "region", "data-i18n-label": title }, this.#table));
    this.element = h("div", { class: "graph" }, h("h3", { "data-i18n": title }), this.#legend, this.#plot, this.#details);
    this.#listen();
  }

  #listen() {
    const plot = this.#plot;
    plot.addEventListener("pointermove", (event) => this.#point(event));
    plot.addEventListener("pointerdown", (event) => this.#point(event));
    plot.addEventListener("pointerleave", () => plot === document.activeElement || this.#moveTo(null));
    plot.addEventListener("focus", () => this.#moveTo(this.#cursor ?? this.#points.length - 1));
    plot.addEventListener("blur", () => this.#moveTo(null));
    plot.addEventListener("keydown", (event) => this.#press(event));
    this.#details.addEventListener("toggle", () => this.#drawTable());
    new ResizeObserver(() => this.#resized()).observe(plot);
  }

  /** @param {{points: object[], from: number, to: number, span_seconds: number}} answer of GET /api/history */
  show(answer) {
    const marked = this.#points[this.#cursor]?.at;
    this.#answer = answer;
    if (this.#cursor !== null) this.#cursor = this.#points.length ? nearest(this.#points, marked ?? answer.to) : null;
    this.draw();
  }

  /** Draws and says everything again: new figures, another language, another width. */
  draw() {
    if (!this.#answer) return;
    const svg = this.#svg;
    svg.replaceChildren();
    this.#none.hidden = this.#points.some((point) => this.#series.some(({ key }) => typeof point[key] === "number"));
    this.#plot.setAttribute("aria-valuemax", Math.max(0, this.#points.length - 1));
    this.#drawLegend();
    this.#drawTable();
    if (this.#width > EDGE.left + EDGE.right) {
      svg.setAttribute("viewBox", `0 0 ${this.#width} ${HEIGHT}`);
      this.#drawAxes();
      this.#series.forEach((line, number) => this.#drawLine(line, number));
    }
    this.#moveTo(this.#cursor);
  }

  get #points() {
    return this.#answer?.points ?? [];
  }

  #resized() {
    if (this.#plot.clientWidth === this.#width) return;
    this.#width = this.#plot.clientWidth;
    this.draw();
  }

  // ------------------------------------------------------------------------------------------------------ drawing

  get #ticks() {
    const values = this.#points.flatMap((point) => this.#series.map(({ key }) => point[key] ?? 0));
    return valueTicks(values.reduce((most, value) => Math.max(most, value), 0), this.#least, this.#whole);
  }

  #x = ({ at }) => {
    const { from, to } = this.#answer;
    return EDGE.left + ((this.#width - EDGE.left - EDGE.right) * (at - from)) / (to - from);
  };

  #height(value, top) {
    return EDGE.top + (HEIGHT - EDGE.top - EDGE.bottom) * (1 - value / top);
  }

  #drawAxes() {
    const ticks = this.#ticks;
    const right = this.#width - EDGE.right;
    for (const value of ticks) {
      const y = this.#height(value, ticks.at(-1));
      this.#svg.append(
        drawn("line", { class: value ? "graph-grid" : "graph-axis", x1: EDGE.left, x2: right, y1: y, y2: y }),
        drawn("text", { class: "graph-tick", x: EDGE.left - 8, y: y + 4, "text-anchor": "end" }, this.#format(value)),
      );
    }
    const { from, to } = this.#answer;
    for (const { at, step } of timeTicks(from, to, (right - EDGE.left) / TICK_WIDTH)) {
      const x = this.#x({ at });
      if (x < EDGE.left + 16 || x > right - 16) continue;
      this.#svg.append(
        drawn("line", { class: "graph-axis", x1: x, x2: x, y1: HEIGHT - EDGE.bottom, y2: HEIGHT - EDGE.bottom + 4 }),
        drawn("text", { class: "graph-tick", x, y: HEIGHT - 6, "text-anchor": "middle" }, tickTime(at, step)),
      );
    }
  }

  #drawLine({ key, area }, number) {
    const top = this.#ticks.at(-1);
    const { lines, dots } = linesAndDots(runsOf(this.#points, key, this.#answer.span_seconds));
    const y = (point) => this.#height(point[key], top);
    if (area) this.#svg.append(drawn("path", { class: `graph-area line-${number}`, d: areaOf(lines, this.#x, y, HEIGHT - EDGE.bottom) }));
    this.#svg.append(drawn("path", { class: `graph-line line-${number}`, d: pathOf(lines, this.#x, y) }));
    for (const dot of dots) this.#svg.append(drawn("circle", { class: `graph-dot graph-lone line-${number}`, cx: this.#x(dot), cy: y(dot), r: 3.5 }));
  }

  /** What each line is, with its newest value. */
  #drawLegend() {
    const newest = (key) => this.#points.findLast((point) => typeof point[key] === "number")?.[key] ?? null;
    const items = this.#series.map(({ key, label }, number) =>
      h("li", {}, h("i", { class: `line-${number}`, "aria-hidden": "true" }), t(label), h("b", {}, this.#format(newest(key)))),
    );
    this.#legend.replaceChildren(...items);
  }

  #drawTable() {
    if (!this.#details.open || !this.#answer) return;
    const head = h("tr", {}, h("th", { scope: "col" }, t("admin.graph.time")), this.#series.map(({ label }) => h("th", { scope: "col" }, t(label))));
    const rows = this.#points
      .toReversed()
      .map((point) => h("tr", {}, h("th", { scope: "row" }, this.#timeOf(point)), this.#series.map(({ key }) => h("td", {}, this.#format(point[key])))));
    this.#table.replaceChildren(h("caption", { class: "visually-hidden" }, t(this.#title)), h("thead", {}, head), h("tbody", {}, rows));
  }

  #timeOf({ at }) {
    const { from, to, span_seconds: span } = this.#answer;
    const day = to - from > DAY_SECONDS / 2 ? { weekday: "short", day: "numeric", month: "short" } : {};
    const second = span < 60 ? { second: "2-digit" } : {};
    return new Date(at * 1000).toLocaleString(locale(), { ...day, hour: "2-digit", minute: "2-digit", ...second });
  }

  // ------------------------------------------------------------------------------------------------------ the cursor

  #point({ clientX }) {
    if (!this.#points.length) return;
    const { from, to } = this.#answer;
    const inside = clientX - this.#plot.getBoundingClientRect().left - EDGE.left;
    this.#moveTo(nearest(this.#points, from + ((to - from) * inside) / (this.#width - EDGE.left - EDGE.right)));
  }

  #press(event) {
    const last = this.#points.length - 1;
    const now = this.#cursor ?? last;
    const places = { ArrowLeft: now - 1, ArrowRight: now + 1, ArrowDown: now - 1, ArrowUp: now + 1, PageDown: now - PAGE_POINTS, PageUp: now + PAGE_POINTS, Home: 0, End: last };
    if (!(event.key in places) || last < 0) return;
    event.preventDefault();
    this.#moveTo(Math.min(Math.max(places[event.key], 0), last));
  }

  /** @param {number | null} index of a point */
  #moveTo(index) {
    this.#svg.querySelectorAll(".graph-cursor").forEach((element) => element.remove());
    const point = this.#points[index ?? -1];
    this.#cursor = point ? index : null;
    this.#bubble.hidden = !point;
    const shown = point ?? this.#points.at(-1);
    this.#plot.setAttribute("aria-valuenow", index ?? Math.max(0, this.#points.length - 1));
    this.#plot.setAttribute("aria-valuetext", shown ? this.#words(shown) : t("admin.graph.none"));
    if (point && this.#width) this.#mark(point);
  }

  #words(point) {
    return [this.#timeOf(point), ...this.#series.map(({ key, label }) => `${t(label)} ${this.#format(point[key])}`)].join(", ");
  }

  #mark(point) {
    const x = this.#x(point);
    const top = this.#ticks.at(-1);
    this.#svg.append(drawn("line", { class: "graph-cursor graph-rule", x1: x, x2: x, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
    this.#series.forEach(({ key }, number) => {
      if (typeof point[key] !== "number") return;
      this.#svg.append(drawn("circle", { class: `graph-cursor graph-dot line-${number}`, cx: x, cy: this.#height(point[key], top), r: 4 }));
    });
    const lines = this.#series.map(({ key, label }, number) =>
      h("span", {}, h("i", { class: `line-${number}` }), t(label), h("b", {}, this.#format(point[key]))),
    );
    this.#bubble.replaceChildren(h("span", { class: "graph-when" }, this.#timeOf(point)), ...lines);
    const left = x > this.#width / 2;
    this.#bubble.style.insetInlineStart = left ? "auto" : `${x + 12}px`;
    this.#bubble.style.insetInlineEnd = left ? `${this.#width - x + 12}px` : "auto";
  }
}

/** "14:30", or the day where a tick is one. */
function tickTime(at, step) {
  const time = new Date(at * 1000);
  if (step >= DAY_SECONDS || (step >= DAY_SECONDS / 4 && time.getHours() === 0)) return time.toLocaleDateString(locale(), { weekday: "short", day: "numeric" });
  return time.toLocaleTimeString(locale(), { hour: "numeric", minute: "2-digit" });
}
