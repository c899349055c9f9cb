/**
 * The microphone: opened on request, heard as blocks of samples, closed again.
 *
 * Event "block" (detail: Float32Array of 100 ms in [-1, 1]). Browsers have microphones on https and on localhost only.
 */
const WORKLET_URL = new URL("./recorder-worklet.js", import.meta.url);
/** Plain sound: what a telephone call wants (gates, gains) spoils a voice. */
const CONSTRAINTS = { audio: { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false } };

export class Recorder extends EventTarget {
  #context = null;
  #stream = null;

  static get available() {
    return Boolean(globalThis.AudioWorkletNode && globalThis.navigator?.mediaDevices?.getUserMedia);
  }

  get sampleRate() {
    return this.#context.sampleRate;
  }

  /** Asks for the microphone and listens. @throws {DOMException} when it is refused or there is none */
  async open() {
    const stream = await navigator.mediaDevices.getUserMedia(CONSTRAINTS);
    window.dispatchEvent(new Event("microphone")); // from now on devices have names
    const context = new AudioContext();
    this.#stream = stream;
    this.#context = context;
    await context.audioWorklet.addModule(WORKLET_URL);
    const node = new AudioWorkletNode(context, "recorder-processor", { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => this.dispatchEvent(new CustomEvent("block", { detail: data }));
    context.createMediaStreamSource(stream).connect(node);
  }

  /** Lets the microphone go. */
  close() {
    for (const track of this.#stream?.getTracks() ?? []) track.stop();
    this.#context?.close();
    this.#stream = this.#context = null;
  }
}
