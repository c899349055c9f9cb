/**
 * The audio thread's end of a player. Its messages are those of PlayoutPort.
 */
import { PlayoutPort } from "./playout-port.js";

class SpeechProcessor extends AudioWorkletProcessor {
  constructor(options) {
    super();
    const playout = new PlayoutPort({ sampleRate, ...options.processorOptions }, (snapshot) =>
      this.port.postMessage(snapshot),
    );
    this.port.onmessage = ({ data }) => playout.receive(data);
    this.playout = playout;
  }

  process(_inputs, [[output]]) {
    return this.playout.fill(output);
  }
}

registerProcessor("speech-processor", SpeechProcessor);
