/**
 * Which sample of the session's audio the player is at, when some of what the server sent was never given to it.
 *
 *   const map = new SampleMap();
 *   map.add(0, 24000);                   // the server's samples 0 - 24000 are the player's first
 *   map.add(48000, 12000);               // then a barge-in made the next 24000 void
 *   map.toSession(30000) === 54000
 *   map.toPlayer(54000) === 30000
 */
export class SampleMap {
  #runs = [];
  #length = 0;

  /** @param {number} firstSample of the session @param {number} count samples, given to the player */
  add(firstSample, count) {
    const last = this.#runs.at(-1);
    const follows = last && last.session + (this.#length - last.player) === firstSample;
    if (!follows) this.#runs.push({ player: this.#length, session: firstSample });
    this.#length += count;
  }

  /** @param {number} position sample of the player @returns {number} sample of the session */
  toSession(position) {
    const run = this.#runs.findLast(({ player }) => player <= position);
    return run ? run.session + position - run.player : 0;
  }

  /** @param {number} sample of the session @returns {number} position of the player; of what it was not given, the next */
  toPlayer(sample) {
    const place = this.#runs.findLastIndex(({ session }) => session <= sample);
    if (place < 0) return 0;
    const { session, player } = this.#runs[place];
    return Math.min(player + sample - session, this.#runs[place + 1]?.player ?? this.#length);
  }
}
