/**
 * Tells the server what a listener heard: at the first sound, every two seconds while it goes on, at once when audio
 * ran out, and at the end.
 *
 *   const reporter = new PlaybackReporter((figures) => stream.report(figures));
 *   reporter.note(report, sampleRate);   // each report of the player
 *   reporter.flush();                    // at the end
 */
const INTERVAL_SECONDS = 2;

export class PlaybackReporter {
  #send;
  #now;
  #last = null;
  #sent = null;
  #sentAt = -Infinity;

  /**
   * @param {(figures: {played_samples: number, underruns: number, buffered_ms: number}) => boolean | void} send
   *   false: not possible just now
   */
  constructor(send, now = () => performance.now() / 1000) {
    this.#send = send;
    this.#now = now;
  }

  /** @param {{playedSamples: number, underruns: number, bufferedSamples: number}} report of the player */
  note({ playedSamples, underruns, bufferedSamples }, sampleRate) {
    const milliseconds = Math.round((1000 * bufferedSamples) / sampleRate);
    this.#last = { played_samples: playedSamples, underruns, buffered_ms: milliseconds };
    if (playedSamples === 0) return;
    const due = this.#now() - this.#sentAt >= INTERVAL_SECONDS;
    if (due || underruns > (this.#sent?.underruns ?? 0)) this.flush();
  }

  /** Sends what was noted last, unless the server knows it. */
  flush() {
    const known = this.#sent?.played_samples === this.#last?.played_samples && this.#sent?.underruns === this.#last?.underruns;
    if (!this.#last || known || this.#send(this.#last) === false) return;
    this.#sentAt = this.#now();
    this.#sent = this.#last;
  }
}
