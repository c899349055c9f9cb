/**
 * A waiting time that only goes down, whatever the server's estimates do.
 *
 * A later estimate that is longer than what is shown holds the shown value until time has caught
 * up with it; a shorter one is taken at once. At zero it stays: "any moment now". A server that
 * can not tell (null: no worker is up) clears it, and the next estimate starts anew.
 */
export class Countdown {
  #dueAt = null;
  #shown = null;

  /** @param {number | null} etaSeconds the server's estimate @param {number} nowSeconds */
  update(etaSeconds, nowSeconds) {
    this.#dueAt = etaSeconds === null ? null : nowSeconds + etaSeconds;
    if (etaSeconds === null) this.#shown = null;
  }

  /** @returns {number | null} whole seconds to show now, null when unknown */
  remaining(nowSeconds) {
    if (this.#dueAt === null) return null;
    const estimate = Math.max(0, Math.ceil(this.#dueAt - nowSeconds - 1e-6));
    this.#shown = this.#shown === null ? estimate : Math.min(this.#shown, estimate);
    return this.#shown;
  }
}
