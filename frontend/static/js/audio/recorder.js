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
  #turn = 0;

  static get available() {
    return Boolean(globalThis.AudioWorkletNode && globalThis.navigator?.mediaDevices?.getUserMedia);
  }

  get sampleRate() {
    return this.#context.sampleRate;
  }

  /**
   * Asks for the microphone and listens. Closed or opened anew meanwhile, it lets go of what it was given.
   * @throws {DOMException} when it is refused, there is none, or it was closed
   */
  async open() {
    this.close();
    const turn = this.#turn;
    const stream = await navigator.mediaDevices.getUserMedia(CONSTRAINTS);
    window.dispatchEvent(new Event("microphone")); // from now on devices have names
    if (turn !== this.#turn) {
      release(stream);
      throw closed();
    }
    this.#stream = stream;
    const context = new AudioContext();
    this.#context = context;
    await context.audioWorklet.addModule(WORKLET_URL);
    if (turn !== this.#turn) throw closed();
    const node = new AudioWorkletNode(context, "recorder-processor", { numberOfOutputs: 0 });
    node.port.onmessage = ({ data }) => this.dispatchEvent(new CustomEvent("block", { detail: data }));
    context.createMediaStreamSource(stream).connect(node);
  }

  /** Lets the microphone go. */
  close() {
    this.#turn += 1;
    release(this.#stream);
    this.#context?.close();
    this.#stream = this.#context = null;
  }
}

function release(stream) {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

function closed() {
  return new DOMException("the microphone was closed", "AbortError");
}
