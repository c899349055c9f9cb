/**
 * A player of one utterance at a time: an AudioContext at the server's rate and a worklet node.
 *
 * Everything that arrives is kept, so the clip can be paused, sought and heard again while it
 * streams and after. Call prepare() inside a click: browsers start audio only then.
 *
 * Event "report" carries a Playout snapshot: {state, position, playedSamples, bufferedSamples,
 * receivedSamples, underruns, prerollSeconds}.
 */
import { toFloat } from "./pcm.js";

const WORKLET_URL = new URL("./worklet.js", import.meta.url);

export class Player extends EventTarget {
  #context = null;
  #node = null;
  #loading = null;

  /** The rate of the open context, or null before the first. */
  get sampleRate() {
    return this.#context?.sampleRate ?? null;
  }

  /** Opens the audio device at a rate (and keeps it, while the rate stays). */
  prepare(sampleRate) {
    if (this.#context?.sampleRate !== sampleRate) {
      this.#context?.close();
      this.#context = new AudioContext({ sampleRate, latencyHint: "interactive" });
      this.#loading = this.#context.audioWorklet.addModule(WORKLET_URL);
    }
    return Promise.all([this.#context.resume(), this.#loading]);
  }

  /** Starts a new, empty utterance. @throws when the browser has no audio worklet */
  async begin(sampleRate, prerollSeconds) {
    this.stop();
    await this.prepare(sampleRate);
    const node = new AudioWorkletNode(this.#context, "speech-processor", {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions: { prerollSeconds },
    });
    node.port.onmessage = ({ data }) => {
      if (node === this.#node) this.dispatchEvent(new CustomEvent("report", { detail: data }));
    };
    node.connect(this.#context.destination);
    this.#node = node;
  }

  /** @param {Int16Array} samples */
  push(samples) {
    const floats = toFloat(samples);
    this.#node?.port.postMessage({ type: "push", samples: floats }, [floats.buffer]);
  }

  end() {
    this.#send({ type: "end" });
  }

  play() {
    this.#context?.resume();
    this.#send({ type: "play" });
  }

  pause() {
    this.#send({ type: "pause" });
  }

  seek(position) {
    this.#send({ type: "seek", position });
  }

  setPreroll(seconds) {
    this.#send({ type: "preroll", seconds });
  }

  /** Fades out and forgets the utterance. */
  stop() {
    this.#send({ type: "stop" });
    this.#node = null;
  }

  #send(message) {
    this.#node?.port.postMessage(message);
  }
}
