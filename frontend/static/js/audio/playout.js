/**
 * Playout: decides, sample by sample, what a growing clip sounds like right now.
 *
 * Pure arithmetic, without Web Audio: the worklet calls pull() for every block of output, and the
 * tests call it the same way. The rules:
 *   - The first sample waits for the pre-roll, counted from the arrival of the first chunk, so a
 *     second chunk that is late by less than the pre-roll is not heard. When more than a chunk and
 *     the pre-roll is there already, or the clip is complete, it starts at once.
 *   - When audio runs out before the clip is complete, the last 5 ms fade to zero, the pre-roll
 *     doubles (to 500 ms at most) and is waited for again. Nothing is ever dropped.
 *   - Pause, stop and seek fade 5 ms as well, so none of them clicks.
 *   - Of what was heard, as much is kept as was asked for; all of it otherwise.
 *   - At another speed than 1 the pitch stays (`Stretch`); positions count samples of the clip.
 *
 * States: buffering -> playing -> ended, with paused and stopped on the side.
 */
import { Clip } from "./clip.js";
import { Stretch } from "./stretch.js";

const PREROLL_SECONDS = 0.08;
const PREROLL_LIMIT_SECONDS = 0.5;
export const FADE_SECONDS = 0.005;
const RATE_LIMITS = [0.5, 2];

export class Playout {
  #clip;
  #keptSeconds;
  #state = "buffering";
  #position;
  #furthest;
  #underruns = 0;
  #complete = false;
  #stalled = false;
  #idle = false;
  #fadeSamples;
  #level;
  #waitedSamples = 0;
  #longestChunk = 0;
  #afterFade = null;
  #rate = 1;
  #stretch;
  #stretching = false;

  /**
   * @param {{sampleRate: number, prerollSeconds?: number, keptSeconds?: number, from?: number}} options `keptSeconds`: how
   *   much of what was heard can be heard again; `from`: the sample of the clip that is pushed first
   */
  constructor({ sampleRate, prerollSeconds = PREROLL_SECONDS, keptSeconds = Infinity, from = 0 }) {
    this.sampleRate = sampleRate;
    this.#keptSeconds = keptSeconds;
    this.#clip = new Clip(from);
    this.#position = this.#furthest = from;
    this.#fadeSamples = Math.round(FADE_SECONDS * sampleRate);
    this.#level = this.#fadeSamples;
    this.#stretch = new Stretch(this.#clip, sampleRate);
    this.setPreroll(prerollSeconds);
  }

  /** Seconds to wait before audio starts, or starts again; kept within [80 ms, 500 ms]. */
  setPreroll(seconds) {
    this.prerollSeconds = Math.min(PREROLL_LIMIT_SECONDS, Math.max(PREROLL_SECONDS, seconds));
  }

  /** Seconds of the clip in a second of sound, kept within [0.5, 2]; at once, also in the middle of a word. */
  setRate(rate) {
    const [least, most] = RATE_LIMITS;
    this.#rate = Math.min(most, Math.max(least, rate));
    if (this.#state === "playing" && !this.#stretching) this.#beginStretch();
  }

  /** @param {Float32Array} samples in [-1, 1] */
  push(samples) {
    this.#clip.append(samples);
    this.#idle = false;
    this.#longestChunk = Math.max(this.#longestChunk, samples.length);
    if (this.#stalled && samples.length > 0) {
      this.#stalled = false;
      this.#underruns += 1;
      this.setPreroll(this.prerollSeconds * 2);
    }
  }

  /** The clip is complete. A stall that nothing followed was its end, and counts as no underrun. */
  end() {
    this.#complete = true;
    this.#stalled = false;
  }

  /** Nothing is due until more is pushed (a live session waits for text): running out now is no underrun. */
  idle() {
    this.#idle = true;
    this.#stalled = false;
  }

  pause() {
    if (this.#state === "playing") this.#fadeThen(() => (this.#state = "paused"));
    else if (this.#state === "buffering") this.#state = "paused";
  }

  /** Plays on after a pause; plays again from the start after the end. */
  play() {
    if (this.#afterFade) this.#settle();
    if (this.#state === "ended") this.#jump(this.#clip.first);
    if (this.#state === "paused") this.#state = "buffering";
  }

  /** Silence for good, faded. */
  stop() {
    if (this.#state === "playing") this.#fadeThen(() => (this.#state = "stopped"));
    else this.#state = "stopped";
  }

  /** Moves the play head within what has arrived. */
  seek(position) {
    const target = Math.max(this.#clip.first, Math.min(Math.round(position), this.#clip.length));
    if (this.#state === "playing") {
      this.#fadeThen(() => {
        this.#jump(target);
        this.#state = "buffering";
      });
    } else if (this.#state !== "stopped") {
      this.#jump(target);
    }
  }

  /** Skips what has arrived and was not heard; positions go on counting it. */
  flush() {
    this.seek(this.#clip.length);
  }

  /** Fills one block of output, silence included. */
  pull(output) {
    output.fill(0);
    if (this.#state === "buffering") this.#waitForPreroll(output.length);
    if (this.#state !== "playing") return;
    const available = this.#runway();
    const count = Math.min(available, output.length);
    const heard = this.#read(output, count, available);
    this.#furthest = Math.max(this.#furthest, this.#position);
    this.#clip.forget(this.#position - this.#keptSeconds * this.sampleRate);
    if (this.#afterFade && (this.#level === 0 || heard < output.length)) {
      output.fill(0, heard);
      this.#settle();
    } else if (heard < output.length || (this.#complete && this.#position >= this.#clip.length)) {
      this.#runOut();
    }
  }

  snapshot() {
    return {
      state: this.#state,
      position: Math.round(this.#position),
      playedSamples: Math.round(this.#furthest),
      bufferedSamples: this.#clip.length - Math.round(this.#position),
      receivedSamples: this.#clip.length,
      underruns: this.#underruns,
      prerollSeconds: this.prerollSeconds,
      rate: this.#rate,
    };
  }

  /** Samples of output that can be made of what is there. */
  #runway() {
    const rest = this.#clip.length - this.#position;
    if (!this.#stretching) return rest;
    if (this.#complete) return Math.ceil(rest / this.#rate);
    return Math.max(0, Math.floor((rest - this.#stretch.lookahead) / this.#rate));
  }

  /** Makes `count` samples of output, and moves on; returns how many of them are heard. */
  #read(output, count, available) {
    if (!this.#stretching) {
      this.#clip.read(this.#position, output, count);
      const heard = this.#shape(output, count, available);
      this.#position += heard;
      return heard;
    }
    const end = this.#stretch.read(output, count, this.#rate);
    const heard = this.#shape(output, count, available);
    this.#position = Math.min(this.#clip.length, end - (count - heard) * this.#rate);
    return heard;
  }

  #beginStretch() {
    this.#stretching = this.#rate !== 1;
    if (this.#stretching) this.#stretch.begin(this.#position);
  }

  /** Applies the gain, level / fadeSamples; returns how many samples were heard before a fade closed. */
  #shape(output, count, available) {
    const full = this.#fadeSamples;
    for (let i = 0; i < count; i += 1) {
      const runway = this.#complete ? full : available - i - 1;
      const wanted = this.#level + (this.#afterFade ? -1 : 1);
      this.#level = Math.max(0, Math.min(full, wanted, runway));
      output[i] *= this.#level / full;
      if (this.#afterFade && this.#level === 0) return i + 1;
    }
    return count;
  }

  #waitForPreroll(elapsedSamples) {
    const kept = this.#rate !== 1 && !this.#complete ? this.#stretch.lookahead : 0;
    const buffered = this.#clip.length - this.#position - kept;
    if (buffered <= 0) {
      if (this.#complete) this.#state = "ended";
      return;
    }
    const preroll = this.prerollSeconds * this.sampleRate;
    const enough = buffered >= preroll + this.#longestChunk;
    if (this.#complete || enough || this.#waitedSamples >= preroll) this.#begin();
    this.#waitedSamples += elapsedSamples;
  }

  #begin() {
    this.#state = "playing";
    this.#beginStretch();
    this.#level = this.#position === 0 ? this.#fadeSamples : 0;
  }

  #runOut() {
    if (this.#complete) {
      this.#state = "ended";
      return;
    }
    this.#state = "buffering";
    this.#stalled = !this.#idle;
    this.#waitedSamples = 0;
  }

  #jump(position) {
    this.#position = position;
    this.#waitedSamples = 0;
    this.#stalled = false;
    if (this.#state === "ended") this.#state = "paused";
  }

  #fadeThen(action) {
    this.#afterFade = action;
  }

  #settle() {
    const action = this.#afterFade;
    this.#afterFade = null;
    action();
  }
}
