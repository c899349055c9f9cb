/**
 * The figures on top, as they are now: workers up, slots used, requests waiting, first audio, speech made, errors.
 */
import { h, setText } from "../../shared/page/dom.js";
import { duration, integer, latency } from "../../i18n/format.js";
import { t } from "../words.js";
import { serves } from "./serving.js";

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Totals over the fleet. A worker that cannot serve lends no slots, but those on which streams still end are there. */
export function totals(workers) {
  const serving = workers.filter(serves);
  const firstAudio = workers.map(({ first_audio_p95_seconds: seconds }) => seconds).filter(Number.isFinite);
  return {
    workers: workers.length,
    serving: serving.length,
    slotsTotal: sum(workers.map((worker) => (serving.includes(worker) ? Math.max(worker.slots_total, worker.slots_used) : worker.slots_used))),
    slotsUsed: sum(workers.map(({ slots_used: slots }) => slots)),
    live: sum(workers.map(({ live_active: active = 0, live_paused: paused = 0 }) => active + paused)),
    firstAudioSeconds: firstAudio.length ? Math.max(...firstAudio) : null,
    audioSeconds: sum(workers.map(({ counters }) => counters?.audio_seconds ?? 0)),
    errors: sum(workers.map(({ errors, counters }) => errors ?? counters?.errors ?? 0)),
    migrations: sum(workers.map(({ migrations = 0 }) => migrations)),
  };
}

export class Summary {
  #workers;
  #slots;
  #waiting;
  #firstAudio;
  #audio;
  #errors;

  /** @param {HTMLElement} list a dl with the names of the figures */
  constructor(list) {
    const figure = (name) => new Figure(list.querySelector(`[data-figure=${name}] dd`));
    this.#workers = figure("workers");
    this.#slots = figure("slots");
    this.#waiting = figure("waiting");
    this.#firstAudio = figure("firstAudio");
    this.#audio = figure("audio");
    this.#errors = figure("errors");
  }

  showWorkers(workers) {
    const all = totals(workers);
    this.#workers.show(integer(all.serving), t("admin.of", { count: integer(all.workers) }));
    this.#slots.show(integer(all.slotsUsed), t("admin.of", { count: integer(all.slotsTotal) }));
    this.#firstAudio.show(latency(all.firstAudioSeconds), t("admin.slowestWorker"));
    this.#audio.show(duration(all.audioSeconds), all.live ? t("admin.liveSessions", { count: all.live }) : "");
    this.#errors.show(integer(all.errors), t("admin.moved", { count: integer(all.migrations) }));
  }

  /** @param {object[]} queue the listed ones @param {number} length of the whole queue */
  showQueue(queue, length) {
    const longest = Math.max(0, ...queue.map(({ waited_seconds: seconds }) => seconds ?? 0));
    this.#waiting.show(integer(length), length ? t("admin.longest", { time: duration(longest) }) : "");
  }
}

class Figure {
  #value = h("span", { class: "figure-value" });
  #note = h("span", { class: "figure-note" });

  /** @param {HTMLElement} place */
  constructor(place) {
    place.append(this.#value, this.#note);
  }

  show(text, note) {
    setText(this.#value, text);
    setText(this.#note, note);
  }
}
