/**
 * A player of one utterance at a time, on an AudioContext at the server's rate.
 *
 * Everything that arrives is kept, so the clip can be paused, sought and heard again while it
 * streams and after. Call prepare() inside a click: browsers start audio only then.
 *
 * Event "report" carries a Playout snapshot: {state, position, playedSamples, bufferedSamples,
 * receivedSamples, underruns, prerollSeconds}.
 */
import { loadOutput, openOutput } from "./outputs.js";
import { toFloat } from "./pcm.js";

export class Player extends EventTarget {
  #context = null;
  #loading = null;
  #output = null;

  /** Opens the audio device at a rate, and keeps it while the rate stays. */
  async prepare(sampleRate) {
    if (this.#context?.sampleRate !== sampleRate) {
      this.#context?.close();
      this.#context = new AudioContext({ sampleRate, latencyHint: "interactive" });
      this.#loading = loadOutput(this.#context);
    }
    await Promise.all([this.#context.resume(), this.#loading]);
  }

  /** Starts a new, empty utterance. @throws when the browser can not open the device */
  async begin(sampleRate, prerollSeconds) {
    this.stop();
    await this.prepare(sampleRate);
    const output = openOutput(this.#context, { prerollSeconds }, (detail) => {
      if (output === this.#output) this.dispatchEvent(new CustomEvent("report", { detail }));
    });
    this.#output = output;
  }

  /** @param {Int16Array} samples */
  push(samples) {
    const floats = toFloat(samples);
    this.#output?.post({ type: "push", samples: floats }, [floats.buffer]);
  }

  /** No audio follows. */
  end() {
    this.#output?.post({ type: "end" });
  }

  play() {
    this.#context?.resume();
    this.#output?.post({ type: "play" });
  }

  pause() {
    this.#output?.post({ type: "pause" });
  }

  /** @param {number} position sample of the clip */
  seek(position) {
    this.#output?.post({ type: "seek", position });
  }

  /** @param {number} seconds to wait before the next start */
  setPreroll(seconds) {
    this.#output?.post({ type: "preroll", seconds });
  }

  /** Fades out and forgets the utterance. */
  stop() {
    this.#output?.post({ type: "stop" });
    this.#output = null;
  }
}
