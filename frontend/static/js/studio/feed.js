/**
 * Gives a player what it is about to hear of a clip: a minute of it, and the minute before is kept there. The clip may
 * be hours long, and come faster than it is heard.
 */
const AHEAD_SECONDS = 60;
export const KEPT_SECONDS = 60;
/** Less than what the player keeps: it is further by now than it said. */
const REACH_SECONDS = 55;
const READ_SECONDS = 10;

export class Feed {
  #player;
  #clip;
  #next;
  #first;
  #position;
  #reading = false;
  #complete = false;
  #over = false;

  /**
   * @param {import("../audio/player.js").Player} player that has begun at `from`
   * @param {import("./utterance.js").Utterance} clip
   * @param {number} from sample where it begins to be heard
   */
  constructor(player, clip, from = 0) {
    this.#player = player;
    this.#clip = clip;
    this.#next = this.#first = this.#position = from;
  }

  /** Whether nothing follows what has arrived. */
  get complete() {
    return this.#complete;
  }

  /** Whether the player has a sample. */
  holds(position) {
    return this.#first <= position && position <= this.#next;
  }

  /** @param {Int16Array} samples that have arrived @param {number} at where they stand in the clip */
  arrived(samples, at) {
    if (at === this.#next && !this.#reading && this.#short) this.#push(samples);
    else this.fill();
  }

  /** Nothing follows. */
  end() {
    this.#complete = true;
    this.fill();
  }

  /** @param {number} position of the player */
  moved(position) {
    this.#position = position;
    this.#first = Math.max(this.#first, position - REACH_SECONDS * this.#clip.sampleRate);
    if (this.#next < this.#clip.samples) this.fill();
  }

  /** Reads what is missing, one piece after the other. */
  async fill() {
    if (this.#reading) return;
    this.#reading = true;
    while (this.#short && this.#next < this.#clip.samples) {
      const samples = await this.#clip.read(this.#next, READ_SECONDS * this.#clip.sampleRate);
      if (this.#over) return;
      this.#push(samples);
    }
    this.#reading = false;
    if (this.#complete && this.#next >= this.#clip.samples) this.#player.end();
  }

  /** The player is another's by now. */
  stop() {
    this.#over = true;
  }

  get #short() {
    return !this.#over && this.#next - this.#position < AHEAD_SECONDS * this.#clip.sampleRate;
  }

  #push(samples) {
    this.#next += samples.length;
    this.#player.push(samples);
  }
}
