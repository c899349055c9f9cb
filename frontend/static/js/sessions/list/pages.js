/**
 * The sessions that are listed, newest first, as pages come. What was asked for last counts: an answer that another
 * question has overtaken is left aside.
 */
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
    return this.#read(null);
  }

  /** The next page behind what there is. @returns {Promise<boolean>} false when it was overtaken @throws {ApiError} */
  following() {
    return this.#read(this.#next);
  }

  remove(id) {
    this.sessions = this.sessions.filter((session) => session.id !== id);
  }

  async #read(before) {
    const turn = (this.#turn += 1);
    try {
      const { sessions, next_before: next } = await this.#ask(before);
      if (turn !== this.#turn) return false;
      this.sessions = before === null ? sessions : [...this.sessions, ...sessions];
      this.#next = next;
      return true;
    } catch (error) {
      if (turn !== this.#turn) return false;
      throw error;
    }
  }
}
