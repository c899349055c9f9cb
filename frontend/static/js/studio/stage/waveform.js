/**
 * The picture of a clip on a canvas: what was heard, what has arrived, what is still expected.
 *
 * The whole width stands for the expected length until more has arrived; then it follows the clip.
 * The whole height stands for the loudest sample so far, so a quiet voice is seen as well.
 * Reports come 20 times a second; between them the play head moves by the clock.
 */
import { fitted, waveColours } from "../../shared/page/wave-canvas.js";

const BAR_PIXELS = 3;
const PITCH_PIXELS = 5;
const DOT_PIXELS = 3.5;
const EASE = 0.14;
const CLOSE = 0.005;
const QUIET = 0.3;
const GAMMA = 0.75;
const now = () => performance.now() / 1000;

/** How long a clip is drawn: what is expected until more has arrived, and in the end what there is. */
export function spanSeconds(expected, arrived, complete) {
  return complete && arrived > 0 ? arrived : Math.max(expected, arrived * 1.02);
}

export class Waveform {
  #canvas;
  #colours = {};
  #utterance = null;
  #expectedSeconds = 1;
  #complete = false;
  #span = 1;
  #ceiling = 1;
  #report = { state: "stopped", position: 0, rate: 1, at: 0 };
  #frame = null;
  #still = matchMedia("(prefers-reduced-motion: reduce)");

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.draw()).observe(canvas);
    window.addEventListener("themechange", () => this.#readColours());
    this.#readColours();
  }

  /** @param {import("../utterance.js").Utterance | null} utterance @param {number} expectedSeconds */
  begin(utterance, expectedSeconds) {
    this.#utterance = utterance;
    this.#expectedSeconds = Math.max(1, expectedSeconds);
    this.#complete = false;
    this.#span = this.#expectedSeconds;
    this.#ceiling = QUIET;
    this.#report = { state: "buffering", position: 0, rate: 1, at: now() };
    this.draw();
  }

  /** No more audio will come: the width is the clip's own length from here on. */
  complete() {
    this.#complete = true;
    this.draw();
  }

  /** @param {{state: string, position: number, rate: number}} report of the player */
  update({ state, position, rate }) {
    this.#report = { state, position, rate, at: now() };
    this.draw();
  }

  /** Seconds of the clip at a horizontal place of the canvas. */
  secondsAt(clientX) {
    const { left, width } = this.#canvas.getBoundingClientRect();
    return ((clientX - left) / width) * this.#span;
  }

  /** Seconds of the clip at its right edge, once the drawing has come to rest. */
  get endSeconds() {
    return this.#targetSpan();
  }

  /** Seconds of the clip heard by now. */
  get positionSeconds() {
    if (!this.#utterance?.sampleRate) return 0;
    const { state, position, rate, at } = this.#report;
    const moved = state === "playing" ? (now() - at) * rate : 0;
    return Math.min(this.#utterance.audioSeconds, position / this.#utterance.sampleRate + moved);
  }

  /** Draws at the next frame, and on while something moves. */
  draw() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      const easing = this.#ease();
      this.#paint();
      if (easing || this.#report.state === "playing") this.draw();
    });
  }

  #targetSpan() {
    return spanSeconds(this.#expectedSeconds, this.#utterance?.audioSeconds ?? 0, this.#complete);
  }

  /** Moves both scales towards where they should be; returns whether they are on their way still. */
  #ease() {
    const span = this.#targetSpan();
    const ceiling = Math.max(QUIET, this.#utterance?.envelope?.loudest ?? 0);
    this.#span = this.#towards(this.#span, span);
    this.#ceiling = this.#towards(this.#ceiling, ceiling);
    return this.#span !== span || this.#ceiling !== ceiling;
  }

  #towards(value, target) {
    const there = this.#still.matches || Math.abs(target - value) < CLOSE;
    return there ? target : value + (target - value) * EASE;
  }

  #readColours() {
    this.#colours = waveColours(this.#canvas);
    this.draw();
  }

  #paint() {
    const { context, width, height } = fitted(this.#canvas);
    const columns = Math.floor(width / PITCH_PIXELS);
    if (columns < 1) return;
    const peaks = this.#utterance?.envelope?.columns(columns, this.#span) ?? new Float32Array(columns).fill(NaN);
    const headPixels = (this.positionSeconds / this.#span) * width;
    peaks.forEach((peak, column) => this.#paintBar(context, column, peak, headPixels, height));
    if (this.#utterance?.samples) this.#paintHead(context, headPixels, width, height);
  }

  #paintBar(context, column, peak, headPixels, height) {
    const x = column * PITCH_PIXELS + (PITCH_PIXELS - BAR_PIXELS) / 2;
    const arrived = !Number.isNaN(peak);
    const tall = arrived ? Math.max(BAR_PIXELS, Math.min(1, peak / this.#ceiling) ** GAMMA * (height - 8)) : 2;
    const wide = arrived ? BAR_PIXELS : 2;
    const colour = arrived ? (x < headPixels ? "played" : "arrived") : "expected";
    context.fillStyle = this.#colours[colour];
    context.beginPath();
    context.roundRect(x, (height - tall) / 2, wide, tall, wide / 2);
    context.fill();
  }

  #paintHead(context, headPixels, width, height) {
    const x = Math.max(1, Math.min(width - 1, headPixels));
    context.fillStyle = this.#colours.head;
    context.fillRect(x - 0.75, 2, 1.5, height - 4);
    context.beginPath();
    context.arc(Math.max(DOT_PIXELS, Math.min(width - DOT_PIXELS, x)), 4, DOT_PIXELS, 0, 2 * Math.PI);
    context.fill();
  }
}
