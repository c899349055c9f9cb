/**
 * A Playout driven by messages, for whichever thread makes the sound.
 *
 * Messages in:  {type: "push", samples: Float32Array}, {type: "end" | "play" | "pause" | "idle" | "flush" | "stop"},
 *               {type: "seek", position}, {type: "preroll", seconds}, {type: "rate", rate}
 * Messages out: Playout snapshots, at most 20 a second, and at once when the state changes.
 */
import { Playout } from "./playout.js";

const REPORT_SECONDS = 0.05;

export class PlayoutPort {
  #playout;
  #post;
  #sinceReport = 0;
  #reported = { state: null };

  /** @param {object} options of Playout @param {(snapshot: object) => void} post */
  constructor(options, post) {
    this.#playout = new Playout(options);
    this.#post = post;
  }

  receive(message) {
    if (message.type === "push") this.#playout.push(message.samples);
    else if (message.type === "seek") this.#playout.seek(message.position);
    else if (message.type === "preroll") this.#playout.setPreroll(message.seconds);
    else if (message.type === "rate") this.#playout.setRate(message.rate);
    else this.#playout[message.type]();
  }

  /** Fills one block of output. @param {Float32Array} output @returns {boolean} false once it is stopped */
  fill(output) {
    this.#playout.pull(output);
    this.#sinceReport += output.length / this.#playout.sampleRate;
    const snapshot = this.#playout.snapshot();
    const { state, position, receivedSamples } = this.#reported;
    const turned = snapshot.state !== state;
    const moved = snapshot.position !== position || snapshot.receivedSamples !== receivedSamples;
    if (turned || (moved && this.#sinceReport >= REPORT_SECONDS)) {
      this.#sinceReport = 0;
      this.#reported = snapshot;
      this.#post(snapshot);
    }
    return snapshot.state !== "stopped";
  }
}
