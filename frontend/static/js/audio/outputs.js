/**
 * Two ways to make a PlayoutPort heard: on the audio thread, or on the page's own.
 *
 * Browsers have audio worklets on https and on localhost only. On plain http from another machine
 * the page's thread fills the blocks: they are larger, so a busy page is less likely to be heard.
 *
 * Both have post(message, transfer) and call onReport with Playout snapshots.
 */
import { PlayoutPort } from "./playout-port.js";

const WORKLET_URL = new URL("./worklet.js", import.meta.url);
const PAGE_BLOCK_SAMPLES = 4096;

/** Loads what an output needs into a context, once per context. */
export function loadOutput(context) {
  return context.audioWorklet?.addModule(WORKLET_URL);
}

/** @param {AudioContext} context loaded @param {object} options of Playout */
export function openOutput(context, options, onReport) {
  const Output = context.audioWorklet ? WorkletOutput : PageOutput;
  return new Output(context, options, onReport);
}

class WorkletOutput {
  #node;

  constructor(context, processorOptions, onReport) {
    this.#node = new AudioWorkletNode(context, "speech-processor", {
      numberOfInputs: 0,
      outputChannelCount: [1],
      processorOptions,
    });
    this.#node.port.onmessage = ({ data }) => {
      if (data.state === "stopped") this.#end();
      onReport(data);
    };
    this.#node.connect(context.destination);
  }

  post(message, transfer = []) {
    this.#node.port.postMessage(message, transfer);
  }

  /** Browsers keep a node, and all the audio it holds, for as long as it is connected or can be written to. */
  #end() {
    this.#node.disconnect();
    this.#node.port.close();
  }
}

class PageOutput {
  #port;

  constructor(context, options, onReport) {
    this.#port = new PlayoutPort({ sampleRate: context.sampleRate, ...options }, onReport);
    const node = context.createScriptProcessor(PAGE_BLOCK_SAMPLES, 0, 1);
    node.onaudioprocess = ({ outputBuffer }) => {
      if (!this.#port.fill(outputBuffer.getChannelData(0))) node.disconnect();
    };
    node.connect(context.destination);
  }

  post(message) {
    this.#port.receive(message);
  }
}
