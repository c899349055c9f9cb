/**
 * The last minute of a figure, one value per second, and the points of its sparkline.
 *
 * The clock decides, not the number of reports: several reports within a second keep the largest,
 * a second without any repeats the last value.
 */
export const SERIES_SECONDS = 60;
const FEWEST_ACROSS = 10;

export class Series {
  #values = [];
  #second = null;

  /** @param {number} value @param {number} nowSeconds */
  add(value, nowSeconds) {
    const second = Math.floor(nowSeconds);
    if (second === this.#second) {
      this.#values.push(Math.max(this.#values.pop(), value));
      return;
    }
    const missed = this.#second === null ? 0 : Math.min(SERIES_SECONDS, second - this.#second - 1);
    const last = this.#values.at(-1);
    this.#values = [...this.#values, ...Array(missed).fill(last), value].slice(-SERIES_SECONDS);
    this.#second = second;
  }

  get values() {
    return [...this.#values];
  }

  /**
   * Corners of a line over the values, newest at the right edge, oldest at the left one; fewer than
   * ten values keep to the right.
   * @param {number} ceiling value at the top edge, raised to the largest value
   * @returns {[number, number][]} in pixels, y down
   */
  points(width, height, ceiling = 0) {
    const top = Math.max(1, ceiling, ...this.#values);
    const step = width / (Math.max(FEWEST_ACROSS, this.#values.length) - 1);
    const first = width - step * (this.#values.length - 1);
    return this.#values.map((value, index) => [first + index * step, height * (1 - value / top)]);
  }
}
