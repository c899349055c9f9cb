/**
 * A waiting time that only goes down, whatever the server's estimates do.
 *
 * A later estimate that is longer than what is shown holds the shown value until time has caught
 * up with it; a shorter one is taken at once. Below zero it counts the overtime: how long ago it should have been
 * over. A server that can not tell (null: no worker is up) clears it, and the next estimate starts anew.
 */
const ROUNDING = 1e-6;

export class Countdown {
  #dueAt = null;
  #shown = null;
  #zeroAt = null;

  /** @param {number | null} etaSeconds the server's estimate @param {number} nowSeconds */
  update(etaSeconds, nowSeconds) {
    this.#dueAt = etaSeconds === null ? null : nowSeconds + etaSeconds;
    if (etaSeconds === null) this.#shown = this.#zeroAt = null;
  }

  /** @returns {number | null} whole seconds to show now: 3, 2, 1, 0, -1 (overtime); null when unknown */
  remaining(nowSeconds) {
    if (this.#dueAt === null) return null;
    if (this.#zeroAt !== null) return -Math.floor(nowSeconds - this.#zeroAt + ROUNDING) || 0;
    const estimate = Math.max(0, Math.ceil(this.#dueAt - nowSeconds - ROUNDING));
    this.#shown = this.#shown === null ? estimate : Math.min(this.#shown, estimate);
    if (this.#shown === 0) this.#zeroAt = nowSeconds;
    return this.#shown;
  }
}
