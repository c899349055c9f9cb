/**
 * Graphs of the last hour up to the last week, from what the gateways have kept; the range is remembered.
 */
import { byId, setText } from "../../shared/page/dom.js";
import { decimal, integer, latency } from "../../i18n/format.js";
import { Graph } from "./graph.js";
import { Section } from "./section.js";
import { t } from "../words.js";
import { local } from "../../shared/page/storage.js";

const KEY = "voxfleet.admin.range";
const tenths = (value) => (typeof value === "number" && Number.isInteger(value) ? integer(value) : decimal(value, 1));

const LEADING = [
  {
    title: "admin.graph.load",
    series: [
      { key: "used", label: "admin.graph.used", area: true },
      { key: "waiting", label: "admin.graph.waiting" },
      { key: "slots", label: "admin.graph.slots" },
    ],
    format: tenths,
    whole: true,
    least: 4,
  },
  {
    title: "admin.graph.firstAudio",
    series: [
      { key: "first_audio_p50_seconds", label: "admin.graph.p50" },
      { key: "first_audio_p95_seconds", label: "admin.graph.p95" },
    ],
    format: latency,
    least: 0.2,
  },
];
const FOLDED = [
  {
    title: "admin.graph.speech",
    series: [
      { key: "speech", label: "admin.graph.speechRate", area: true },
      { key: "workers", label: "admin.graph.workers" },
    ],
    format: tenths,
    least: 2,
  },
  {
    title: "admin.graph.requests",
    series: [
      { key: "requests_per_minute", label: "admin.graph.ended", area: true },
      { key: "refused_per_minute", label: "admin.graph.refused" },
      { key: "errors_per_minute", label: "admin.graph.errors" },
    ],
    format: tenths,
    least: 4,
    whole: true,
  },
];

export class GraphsSection extends Section {
  #graphs = [...LEADING, ...FOLDED].map((options) => new Graph(options));
  #answer = null;
  #timer = null;
  #note = byId("graphs-note");

  constructor(page) {
    super("graphs", "", page);
    const ranges = [...byId("graphs-range").elements];
    const early = ranges.find(({ checked }) => checked); // chosen while this was being loaded
    if (early) local.setItem(KEY, early.value);
    const chosen = early ?? ranges.find(({ value }) => value === local.getItem(KEY)) ?? ranges[0];
    chosen.checked = true;
    this.#choose(chosen.value);
    for (const range of ranges) range.addEventListener("change", () => this.#change(range.value));
    this.body.replaceChildren(...this.#graphs.slice(0, LEADING.length).map((graph) => graph.element));
    byId("graphs-more").replaceChildren(...this.#graphs.slice(LEADING.length).map((graph) => graph.element));
    window.addEventListener("languageset", () => this.#draw());
  }

  #choose(range) {
    this.path = `/api/history?range=${range}`;
  }

  #change(range) {
    local.setItem(KEY, range);
    this.#choose(range);
    this.load();
  }

  async load() {
    clearTimeout(this.#timer);
    const asked = this.path;
    await super.load();
    if (asked !== this.path) return; // a later choice loads by itself
    clearTimeout(this.#timer);
    const seconds = this.#answer?.span_seconds ?? 10;
    this.#timer = setTimeout(() => document.hidden || this.load(), 1000 * Math.min(seconds, 60));
  }

  /** @param {object} answer of GET /api/history */
  show(answer) {
    if (!this.path.endsWith(`=${answer.range}`)) return;
    this.#answer = answer;
    for (const graph of this.#graphs) graph.show(answer);
    this.#showNote();
  }

  #draw() {
    for (const graph of this.#graphs) graph.draw();
    this.#showNote();
  }

  #showNote() {
    if (!this.#answer) return;
    const { kept, gateways } = this.#answer;
    const several = gateways > 1 ? t("admin.graph.together", { count: integer(gateways) }) : "";
    setText(this.#note, kept === "memory" ? t("admin.graph.memory") : several);
    this.#note.classList.toggle("warn", kept === "memory");
  }
}
