/**
 * A list that is asked for anew while something of it is under way, also where an answer failed to come: a gateway may
 * be restarting. What is shown stays meanwhile, and the notice of it goes with the next answer. The last question counts.
 *
 *   const polling = new Polling({ ask: () => fleet.jobs(), show: ({ jobs }) => this.#draw(jobs), notice, fail, milliseconds: 3000 });
 *   await polling.load();
 */
import { within } from "./patience.js";

/** After so long an answer counts as one that does not come, and is asked for anew. */
const SILENT_MS = 30_000;

export class Polling {
  #given;
  #timer = null;
  #turn = 0;
  #goesOn = false;
  #told = false;

  /**
   * @param {object} given
   * @param {(again: boolean) => Promise<T>} given.ask `again`: in a while, for what goes on
   * @param {(answer: T) => boolean} given.show returns whether to ask again in a while
   * @param {(error: Error, again: () => void) => void} given.fail
   * @param {HTMLElement} given.notice where `fail` tells it
   * @param {number} given.milliseconds between an answer and the next question
   * @template T
   */
  constructor(given) {
    this.#given = given;
  }

  async load({ again = false } = {}) {
    const { ask, show, milliseconds } = this.#given;
    const turn = (this.#turn += 1);
    clearTimeout(this.#timer);
    try {
      const answer = await within(SILENT_MS, ask(again));
      if (turn !== this.#turn) return;
      this.#goesOn = show(answer);
      this.#settle();
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#fail(error);
    }
    if (this.#goesOn) this.#timer = setTimeout(() => document.hidden || this.load({ again: true }), milliseconds);
  }

  #fail(error) {
    const { fail, notice } = this.#given;
    if (this.#told && !notice.hidden) return; // what is said again is read out again
    this.#told = true;
    fail(error, () => this.load());
  }

  #settle() {
    if (this.#told) this.#given.notice.hidden = true;
    this.#told = false;
  }
}
