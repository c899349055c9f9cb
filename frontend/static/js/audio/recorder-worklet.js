/**
 * Hands what a microphone hears to the page, a tenth of a second at a time, mixed to one channel.
 */
const BLOCK_SECONDS = 0.1;

class RecorderProcessor extends AudioWorkletProcessor {
  #block = new Float32Array(Math.round(sampleRate * BLOCK_SECONDS));
  #filled = 0;

  process([channels]) {
    const count = channels[0]?.length ?? 0;
    for (let i = 0; i < count; i += 1) {
      let sum = 0;
      for (const channel of channels) sum += channel[i];
      this.#block[this.#filled] = sum / channels.length;
      this.#filled += 1;
      if (this.#filled === this.#block.length) this.#send();
    }
    return true;
  }

  #send() {
    this.port.postMessage(this.#block.slice());
    this.#filled = 0;
  }
}

registerProcessor("recorder-processor", RecorderProcessor);
