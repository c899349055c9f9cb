/**
 * One's trainings: how far each is, asked for as long as one is worked on; to hear, to end, to go on with, to delete.
 */
import { confirmed } from "../shared/page/confirm.js";
import { byId } from "../shared/page/dom.js";
import { keepFocus } from "../shared/page/focus.js";
import { fleet } from "../shared/service/fleet.js";
import { Polling } from "../shared/service/polling.js";
import { Hearing } from "../shared/hearing/hearing.js";
import { showFailure, showProblem } from "../shared/notices/problem-notice.js";
import { isOpen, trainingCard } from "./training-card.js";
import { setMessage, t } from "./words.js";

const REFRESH_MS = 3000;
/** Of a training that is not as it is shown any more. */
const STALE = ["unknown_training", "training_state"];

export class Shelf extends EventTarget {
  #list = byId("trainings");
  #begun;
  #said = byId("said");
  #names = new Map();
  #polling = new Polling({
    ask: () => this.#ask(),
    show: (answer) => this.#take(answer),
    fail: (error, again) => this.#fail(error, again),
    notice: byId("problem"),
    milliseconds: REFRESH_MS,
  });
  #shown = "";
  /** Ids of those whose end is still to be told. @type {string[]} */
  #going = [];
  #hearing = new Hearing((id) => fleet.trainings.sample(...id.split(" ")));

  /** @param {() => string | null} begun id of the training that this page is putting together, which is not shown */
  constructor(begun) {
    super();
    this.#begun = begun;
  }

  /** Events: "told" (detail: {enabled, going, ended}: whether voices are trained, the ids of what is worked on, and a training that is not any more), "more" (detail: a training that is to have more recordings). */
  async open() {
    window.addEventListener("apikey", () => this.load());
    document.addEventListener("visibilitychange", () => document.hidden || this.load());
    await this.load();
  }

  async load() {
    await this.#polling.load();
    this.#list.removeAttribute("aria-busy");
    byId("shelf").hidden = false; // below what may be hidden by the answer
  }

  async #ask() {
    const { trainings, enabled } = await fleet.trainings.list();
    const shown = trainings.filter(({ id }) => id !== this.#begun());
    await this.#learnNames(shown);
    return { shown, enabled };
  }

  /** @returns {boolean} whether one of them goes on */
  #take({ shown, enabled }) {
    const going = shown.filter(isOpen).map(({ id }) => id);
    const ended = shown.find((training) => this.#going.includes(training.id) && !isOpen(training));
    this.#going = going;
    this.dispatchEvent(new CustomEvent("told", { detail: { enabled, going, ended } }));
    this.#show(shown);
    return going.length > 0;
  }

  /** What the recordings are called that findings are about. */
  async #learnNames(trainings) {
    for (const { id, progress } of trainings) {
      const asked = (progress?.findings ?? []).flatMap(({ recordings }) => recordings);
      if (asked.every((one) => this.#names.has(one))) continue;
      const { recordings } = await fleet.trainings.get(id);
      for (const one of recordings) this.#names.set(one.id, one.name);
      for (const one of asked) if (!this.#names.has(one)) this.#names.set(one, "");
    }
  }

  #show(trainings) {
    const now = JSON.stringify(trainings);
    if (now === this.#shown) return; // what is drawn anew is said anew
    this.#shown = now;
    const folded = new Set([...this.#list.querySelectorAll(".train-samples:not([open])")].map((one) => one.closest("[data-training]").dataset.training));
    const actions = {
      cancel: (training) => this.#do(() => fleet.trainings.cancel(training.id)),
      add: (training) => this.dispatchEvent(new CustomEvent("more", { detail: training })),
      start: (training) => this.#do(() => fleet.trainings.start(training.id)),
      remove: (training) => this.#remove(training),
    };
    const attach = (button, id) => this.#hearing.attach(button, id);
    this.#hearing.keep(trainings.flatMap(({ id, progress }) => (progress?.samples ?? []).map((sample) => `${id} ${sample.id}`)));
    const draw = () => this.#list.replaceChildren(...trainings.map((training) => trainingCard(training, this.#names, actions, attach)));
    keepFocus(this.#list, "data-training", draw, byId("file"));
    for (const id of folded) this.#list.querySelector(`[data-training="${CSS.escape(id)}"] .train-samples`)?.removeAttribute("open");
    byId("none").hidden = trainings.length > 0;
  }

  async #remove(training) {
    const { name } = training;
    if (!(await confirmed({ title: t("train.removeAsk"), text: t("train.removeAbout", { name }), verb: t("train.remove") }))) return;
    await this.#do(async () => {
      await fleet.trainings.delete(training.id);
      setMessage(this.#said, "train.removed", { name });
    });
  }

  async #do(work) {
    byId("problem").hidden = true;
    try {
      await work();
    } catch (error) {
      const stale = STALE.includes(error.code);
      showFailure(byId("problem"), error, { again: () => (stale ? this.load() : this.#do(work)) });
      if (!stale) return;
    }
    await this.load();
  }

  #fail(error, again) {
    showProblem(byId("problem"), error, { again });
  }
}
