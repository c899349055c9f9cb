/**
 * A take to look at, listen to and trim: its waveform with a handle at each end.
 */
import { h, icon, setIcon } from "../shared/dom.js";
import { decimal } from "../shared/format.js";
import { setLabel, setMessage } from "../shared/i18n.js";
import { LEAST_SECONDS } from "./take.js";

const BAR_PIXELS = 4;
const STEP_SECONDS = 0.05;

export class TakeView {
  #take = null;
  #audio = new Audio();
  #url = null;
  #canvas = h("canvas", {});
  #from = handle("from");
  #to = handle("to");
  #play = h("button", { class: "button-icon", type: "button", "data-i18n-label": "take.play" }, icon("play"));
  #verdict = h("p", { class: "take-verdict", role: "status" });

  constructor() {
    this.#play.addEventListener("click", () => this.#toggle());
    this.#audio.addEventListener("ended", () => this.#stop());
    this.#from.addEventListener("input", () => this.#trim());
    this.#to.addEventListener("input", () => this.#trim());
    const wave = h("div", { class: "take-wave" }, this.#canvas, this.#from, this.#to);
    this.element = h("div", { class: "take", hidden: true }, this.#play, wave, this.#verdict);
    window.addEventListener("themechange", () => this.#paint());
  }

  /** Stops what is being heard. */
  silence() {
    this.#stop();
  }

  /** @param {import("./take.js").Take | null} take */
  show(take) {
    this.#stop();
    this.#take = take;
    this.element.hidden = take === null;
    if (!take) return;
    for (const input of [this.#from, this.#to]) input.max = take.seconds;
    this.#from.value = take.from;
    this.#to.value = take.to;
    this.#showVerdict();
    this.#paint();
  }

  #trim() {
    const least = Math.min(LEAST_SECONDS, this.#take.seconds);
    const moved = document.activeElement === this.#to ? this.#to : this.#from;
    if (moved === this.#from) this.#from.value = Math.min(Number(this.#from.value), Number(this.#to.value) - least);
    else this.#to.value = Math.max(Number(this.#to.value), Number(this.#from.value) + least);
    this.#take.trim(Number(this.#from.value), Number(this.#to.value));
    this.#stop();
    this.#showVerdict();
    this.#paint();
  }

  #showVerdict() {
    const { problem, from, to } = this.#take;
    const seconds = () => decimal(to - from, 1);
    for (const [input, value] of [[this.#from, from], [this.#to, to]]) {
      input.setAttribute("aria-valuetext", `${value.toFixed(1)} s`);
    }
    this.#verdict.classList.toggle("bad", problem !== null);
    setMessage(this.#verdict, `take.${problem ?? "good"}`, { seconds });
  }

  #paint() {
    if (!this.#take) return;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = window.devicePixelRatio || 1;
    this.#canvas.width = width * scale;
    this.#canvas.height = height * scale;
    const context = this.#canvas.getContext("2d");
    context.scale(scale, scale);
    const { color, outlineColor } = getComputedStyle(this.#canvas); // resolved, unlike custom properties
    const count = Math.max(1, Math.floor(width / BAR_PIXELS));
    const peaks = this.#take.columns(count);
    const loudest = Math.max(0.05, ...peaks);
    peaks.forEach((peak, column) => {
      const seconds = (column / count) * this.#take.seconds;
      const kept = seconds >= this.#take.from && seconds < this.#take.to;
      const tall = Math.max(2, (peak / loudest) * (height - 6));
      context.fillStyle = kept ? color : outlineColor;
      context.fillRect(column * BAR_PIXELS, (height - tall) / 2, BAR_PIXELS - 1.5, tall);
    });
  }

  #toggle() {
    if (this.#url) {
      this.#stop();
      return;
    }
    this.#url = URL.createObjectURL(this.#take.wav());
    this.#audio.src = this.#url;
    setIcon(this.#play, "stop");
    setLabel(this.#play, "take.stop");
    this.#audio.play().catch(() => this.#stop());
  }

  #stop() {
    this.#audio.pause();
    if (this.#url) URL.revokeObjectURL(this.#url);
    this.#url = null;
    setIcon(this.#play, "play");
    setLabel(this.#play, "take.play");
  }
}

function handle(end) {
  const attributes = { class: `take-handle take-${end}`, type: "range", min: 0, step: STEP_SECONDS };
  return h("input", { ...attributes, "data-i18n-label": `take.${end}` });
}
