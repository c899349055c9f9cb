/**
 * The sessions that are listed, newest first, as pages come. What was asked for last counts: an answer that another
 * question has overtaken is left aside.
 */
import { renewed } from "./renewed.js";

/** Whether it is being recorded. */
export const isActive = ({ state }) => state === "active";

export class Pages {
  #ask;
  #turn = 0;
  #next = null;
  sessions = [];

  /** @param {(before: string | null) => Promise<{sessions: object[], next_before: string | null}>} ask for a page */
  constructor(ask) {
    this.#ask = ask;
  }

  /** Whether there are more than these. */
  get more() {
    return this.#next !== null;
  }

  /** The newest instead of what there is. @returns {Promise<boolean>} false when it was overtaken @throws {ApiError} */
  newest() {
    return this.#read(() => this.#page(null));
  }

  /** As much of it anew as goes on. @returns {Promise<boolean>} false when it was overtaken @throws {ApiError} */
  again() {
    return this.#read(() => renewed(() => ({ rows: this.sessions, next: this.#next }), (before) => this.#page(before), isActive));
  }

  /** The next page behind what there is. @returns {Promise<boolean>} false when it was overtaken @throws {ApiError} */
  following() {
    return this.#read(async () => {
      const { rows, next } = await this.#page(this.#next);
      return { rows: [...this.sessions, ...rows], next };
    });
  }

  remove(id) {
    this.sessions = this.sessions.filter((session) => session.id !== id);
  }

  async #page(before) {
    const { sessions: rows, next_before: next } = await this.#ask(before);
    return { rows, next };
  }

  /** @param {() => Promise<import("./renewed.js").Rows>} asked all of them, as they are then */
  async #read(asked) {
    const turn = (this.#turn += 1);
    try {
      const { rows, next } = await asked();
      if (turn !== this.#turn) return false;
      this.sessions = rows;
      this.#next = next;
      return true;
    } catch (error) {
      if (turn !== this.#turn) return false;
      throw error;
    }
  }
}
