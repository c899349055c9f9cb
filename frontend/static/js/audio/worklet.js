/**
 * The audio thread's end of a player: samples come in by message, Playout shapes them, reports go back.
 *
 * Messages in:  {type: "push", samples: Float32Array}, {type: "end" | "play" | "pause" | "stop"},
 *               {type: "seek", position}, {type: "preroll", seconds}
 * Messages out: Playout snapshots, at most 20 a second, and at once when the state changes.
 */
import { Playout } from "./playout.js";

const REPORT_SECONDS = 0.05;

class SpeechProcessor extends AudioWorkletProcessor {
  constructor(options) {
    super();
    this.playout = new Playout({ sampleRate, ...options.processorOptions });
    this.sinceReport = 0;
    this.reported = { state: null };
    this.port.onmessage = ({ data }) => this.receive(data);
  }

  receive(message) {
    if (message.type === "push") this.playout.push(message.samples);
    else if (message.type === "seek") this.playout.seek(message.position);
    else if (message.type === "preroll") this.playout.setPreroll(message.seconds);
    else this.playout[message.type]();
  }

  process(_inputs, [output]) {
    const [first, ...others] = output;
    this.playout.pull(first);
    for (const channel of others) channel.set(first);
    this.report(first.length);
    return this.reported.state !== "stopped";
  }

  report(elapsedSamples) {
    this.sinceReport += elapsedSamples;
    const snapshot = this.playout.snapshot();
    const { state, position, receivedSamples } = this.reported;
    const turned = snapshot.state !== state;
    const moved = snapshot.position !== position || snapshot.receivedSamples !== receivedSamples;
    if (!turned && !(moved && this.sinceReport >= REPORT_SECONDS * sampleRate)) return;
    this.sinceReport = 0;
    this.reported = snapshot;
    this.port.postMessage(snapshot);
  }
}

registerProcessor("speech-processor", SpeechProcessor);
