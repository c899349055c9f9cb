/**
 * The figures on top: workers up, slots used, requests waiting, speech made; two with their history.
 */
import { h, setText } from "../shared/dom.js";
import { duration, integer, plural } from "../shared/format.js";
import { Series } from "./series.js";
import { Sparkline } from "./sparkline.js";

const SERVING = ["IDLE", "BUSY"];
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Totals over the fleet; only workers that can serve lend their slots. */
export function totals(workers) {
  const serving = workers.filter(({ state }) => SERVING.includes(state));
  return {
    workers: workers.length,
    serving: serving.length,
    slotsTotal: sum(serving.map(({ slots_total: slots }) => slots)),
    slotsUsed: sum(workers.map(({ slots_used: slots }) => slots)),
    audioSeconds: sum(workers.map(({ counters }) => counters?.audio_seconds ?? 0)),
    errors: sum(workers.map(({ counters }) => counters?.errors ?? 0)),
  };
}

export class Summary {
  #workers = new Figure("Workers serving");
  #slots = new Figure("Slots in use", new Series());
  #waiting = new Figure("Waiting", new Series());
  #audio = new Figure("Speech made");

  /** @param {HTMLElement} list a dl */
  constructor(list) {
    list.append(...[this.#workers, this.#slots, this.#waiting, this.#audio].map((figure) => figure.element));
  }

  showWorkers(workers) {
    const { serving, slotsUsed, slotsTotal, audioSeconds, errors, ...all } = totals(workers);
    this.#workers.show(integer(serving), `of ${integer(all.workers)}`);
    this.#slots.show(integer(slotsUsed), `of ${integer(slotsTotal)}`, slotsUsed, slotsTotal);
    this.#audio.show(duration(audioSeconds), plural(errors, "error"));
  }

  /** @param {object[]} queue the listed ones @param {number} length of the whole queue */
  showQueue(queue, length) {
    const longest = Math.max(0, ...queue.map(({ waited_seconds: seconds }) => seconds ?? 0));
    this.#waiting.show(integer(length), length ? `longest ${duration(longest)}` : "", length);
  }
}

class Figure {
  #value = h("span", { class: "figure-value" });
  #note = h("span", { class: "figure-note" });
  #series;
  #sparkline;

  constructor(label, series = null) {
    this.#series = series;
    this.#sparkline = series ? new Sparkline() : null;
    this.element = h(
      "div",
      { class: "figure", "data-figure": label },
      h("dt", {}, label),
      h("dd", {}, this.#value, this.#note),
      this.#sparkline?.element,
    );
  }

  show(text, note, value, ceiling) {
    setText(this.#value, text);
    setText(this.#note, note);
    if (!this.#series) return;
    this.#series.add(value, performance.now() / 1000);
    this.#sparkline.draw(this.#series, ceiling);
  }
}
