/**
 * Two soft notes that say "it is your turn", synthesised: there is no file to load.
 */
import { Remembered } from "../page/storage.js";

const NOTES = [
  { hertz: 659.26, at: 0 },
  { hertz: 987.77, at: 0.14 },
];
const RING_SECONDS = 0.7;
const LOUDNESS = 0.12;

export class Chime {
  #memory = new Remembered("chime");
  #createContext;

  constructor({ createContext = () => new AudioContext() } = {}) {
    this.#createContext = createContext;
  }

  /** Whether it rings; remembered. */
  get on() {
    return this.#memory.load().on ?? true;
  }

  set on(value) {
    this.#memory.save({ on: value });
  }

  /** Rings once, when it is on. */
  ring() {
    if (!this.on) return;
    const context = this.#createContext();
    for (const { hertz, at } of NOTES) playNote(context, hertz, context.currentTime + at);
    setTimeout(() => context.close(), 1000 * (RING_SECONDS + 0.5));
  }
}

function playNote(context, hertz, from) {
  const tone = new OscillatorNode(context, { frequency: hertz, type: "sine" });
  const gain = new GainNode(context, { gain: 0 });
  gain.gain.setValueAtTime(0, from);
  gain.gain.linearRampToValueAtTime(LOUDNESS, from + 0.015);
  gain.gain.exponentialRampToValueAtTime(0.0005, from + RING_SECONDS);
  tone.connect(gain).connect(context.destination);
  tone.start(from);
  tone.stop(from + RING_SECONDS);
}
