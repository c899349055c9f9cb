/**
 * A text that comes as from a language model: so many tokens a second, until it is over or stopped.
 *
 *   const feed = new TokenFeed({ take: (count) => tokens, rate: () => 20 });
 *   feed.start();                  // calls take() with how many are due; stops when it answers false
 */
const TICK_MS = 50;

export class TokenFeed {
  #take;
  #rate;
  #timer = null;
  #due = 0;

  /** @param {{take: (count: number) => boolean, rate: () => number}} source take sends tokens; false when none is left */
  constructor({ take, rate }) {
    this.#take = take;
    this.#rate = rate;
  }

  get running() {
    return this.#timer !== null;
  }

  start() {
    this.#due = 1;
    this.#timer ??= setInterval(() => this.tick(TICK_MS), TICK_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.#timer = null;
  }

  /** Sends what has become due in so many milliseconds. */
  tick(milliseconds) {
    this.#due += (this.#rate() * milliseconds) / 1000;
    const count = Math.floor(this.#due);
    if (count < 1) return;
    this.#due -= count;
    if (!this.#take(count)) this.stop();
  }
}
