/**
 * A player of one utterance at a time, on an AudioContext at the server's rate.
 *
 * Unless it is told otherwise, everything that is pushed is kept, so the clip can be paused, sought and heard again while
 * it streams and after. Call prepare() inside a click: browsers start audio only then.
 *
 * Event "report" carries a Playout snapshot: {state, position, playedSamples, bufferedSamples,
 * receivedSamples, underruns, prerollSeconds, rate}.
 */
import { loadOutput, openOutput } from "./outputs.js";
import { toFloat } from "./pcm.js";

export class Player extends EventTarget {
  #context = null;
  #loading = null;
  #output = null;
  #device = "";
  #rate = 1;

  /** Whether the reader can choose where audio comes out. */
  static get canChooseOutput() {
    return typeof globalThis.AudioContext?.prototype.setSinkId === "function";
  }

  /** @param {string} deviceId of an "audiooutput", "" is the system's own @throws when the device is gone or not allowed */
  async setOutput(deviceId) {
    if (Player.canChooseOutput) await this.#context?.setSinkId(deviceId);
    this.#device = deviceId;
  }

  /** Opens the audio device at a rate, and keeps it while the rate stays. */
  async prepare(sampleRate) {
    if (this.#context?.sampleRate !== sampleRate) {
      this.#context?.close();
      this.#context = new AudioContext({ sampleRate, latencyHint: "interactive" });
      this.#loading = Promise.all([loadOutput(this.#context), this.#openDevice()]);
    }
    await Promise.all([this.#context.resume(), this.#loading]);
  }

  /** A device that was unplugged since is as good as the system's own. */
  async #openDevice() {
    if (!this.#device) return;
    await this.#context.setSinkId(this.#device).catch(() => (this.#device = ""));
  }

  /**
   * Starts a new, empty utterance. @throws when the browser can not open the device
   * @param {{keptSeconds?: number, from?: number}} [options] as of Playout
   */
  async begin(sampleRate, prerollSeconds, options = {}) {
    this.stop();
    await this.prepare(sampleRate);
    this.stop(); // another may have begun meanwhile
    const output = openOutput(this.#context, { prerollSeconds, ...options }, (detail) => {
      if (output === this.#output) this.dispatchEvent(new CustomEvent("report", { detail }));
    });
    this.#output = output;
    this.setRate(this.#rate);
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

  /** Nothing is due until more is pushed: a live session waits for text. */
  idle() {
    this.#output?.post({ type: "idle" });
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

  /** @param {number} rate speed of this utterance and of those after it, in [0.5, 2]; the pitch stays */
  setRate(rate) {
    this.#rate = rate;
    this.#output?.post({ type: "rate", rate });
  }

  /** Barge-in: what has arrived is skipped, faded, and what comes next is heard after the pre-roll. */
  flush() {
    this.#output?.post({ type: "flush" });
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
