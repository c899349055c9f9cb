/**
 * A take to look at, listen to and trim: its waveform with a handle at each end, and marks where something is wrong.
 * What is wrong, the service says.
 *
 * Its element gets "denoise" when the reader wants the noise taken out, and "examined" when something else is said of it.
 */
import { h, icon, setIcon } from "../../shared/page/dom.js";
import { decimal } from "../../i18n/format.js";
import { setLabel, setMessage } from "../../i18n/i18n.js";
import { problemText } from "../../shared/notices/problems.js";
import { checkList } from "./check-list.js";
import { Examination, marksOf } from "./examination.js";
import { LEAST_SECONDS } from "./take.js";

const BAR_PIXELS = 4;
/** Pixels: of a mark, and of the line below it. */
const LEAST_MARK = 3;
const MARK_LINE = 3;
const MARK_SHADE = 0.22;
const STEP_SECONDS = 0.05;

export class TakeView {
  #take = null;
  #audio = new Audio();
  #url = null;
  #canvas = h("canvas", {});
  #from = handle("from");
  #to = handle("to");
  #play = h("button", { class: "button-icon", type: "button", "data-i18n-label": "take.play" }, icon("play"));
  #examination = new Examination();
  #findings = h("div", { class: "take-findings" });
  #verdict = h("p", { class: "take-verdict", role: "status" });
  #ignored;
  #errorText;
  #denoise = null;

  /** @param {{ignored?: string[], errorText?: Function}} [options] codes of remarks that do not hold here; as of `checkList` */
  constructor({ ignored = [], errorText } = {}) {
    this.#ignored = new Set(["trimmed", ...ignored]);
    this.#errorText = errorText;
    this.#play.addEventListener("click", () => this.#toggle());
    this.#audio.addEventListener("ended", () => this.#stop());
    this.#from.addEventListener("input", () => this.#trim());
    this.#to.addEventListener("input", () => this.#trim());
    const wave = h("div", { class: "take-wave" }, this.#canvas, this.#from, this.#to);
    this.element = h("div", { class: "take", hidden: true }, this.#play, wave, this.#verdict, this.#findings);
    this.#examination.addEventListener("change", () => this.#showFindings());
    window.addEventListener("themechange", () => this.#paint());
  }

  /** Whether noise is taken out before it is used; null: it cannot be. @param {boolean | null} denoise */
  set denoise(denoise) {
    if (denoise === this.#denoise) return;
    this.#denoise = denoise;
    if (this.#take) this.#examine();
  }

  /** Whether the service said that nothing can be made of it. */
  get refused() {
    return (this.#examination.state.checks ?? []).some(({ severity }) => severity === "error");
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
    if (!take) {
      this.#examination.drop();
      return;
    }
    for (const input of [this.#from, this.#to]) input.max = take.seconds;
    this.#from.value = take.from;
    this.#to.value = take.to;
    this.#sayEnds();
    this.#examine();
  }

  #examine(soon = false) {
    this.#examination.ask(this.#take, { soon, denoise: this.#denoise === true });
  }

  #trim() {
    const least = Math.min(LEAST_SECONDS, this.#take.seconds);
    const moved = document.activeElement === this.#to ? this.#to : this.#from;
    if (moved === this.#from) this.#from.value = Math.min(Number(this.#from.value), Number(this.#to.value) - least);
    else this.#to.value = Math.max(Number(this.#to.value), Number(this.#from.value) + least);
    this.#take.trim(Number(this.#from.value), Number(this.#to.value));
    this.#stop();
    this.#sayEnds();
    this.#examine(true);
  }

  #sayEnds() {
    const { from, to } = this.#take;
    for (const [input, value] of [[this.#from, from], [this.#to, to]]) {
      input.setAttribute("aria-valuetext", `${value.toFixed(1)} s`);
    }
  }

  #showFindings() {
    this.element.dispatchEvent(new Event("examined"));
    if (!this.#take) return;
    const { state, error, from: start, sound_seconds: sound, checks = [] } = this.#examination.state;
    const { from, to } = this.#take;
    const told = checks.filter(({ code }) => !this.#ignored.has(code));
    const key = state === "told" && told.length === 0 ? "take.fine" : `take.${state}`;
    const reason = () => (error ? problemText(error) : "");
    setMessage(this.#verdict, key, { seconds: () => decimal(to - from, 1), sound: () => decimal(sound ?? 0, 1), reason });
    this.#findings.replaceChildren(...(told.length > 0 ? [checkList(told, start, this.#remedies(), this.#errorText)] : []));
    this.#paint();
  }

  #remedies() {
    if (this.#denoise !== false) return {};
    const button = h("button", { class: "button", type: "button", "data-i18n": "check.noise.remedy" });
    button.addEventListener("click", () => {
      this.#play.focus(); // the button goes
      this.element.dispatchEvent(new Event("denoise", { bubbles: true }));
    });
    return { noise: button };
  }

  #paintMarks(context, width, height, colour) {
    const { checks = [], from } = this.#examination.state;
    const x = (seconds) => (seconds / this.#take.seconds) * width;
    context.fillStyle = colour;
    for (const mark of marksOf(checks.filter(({ code }) => !this.#ignored.has(code)), from)) {
      const wide = Math.max(LEAST_MARK, x(mark.to) - x(mark.from));
      context.globalAlpha = MARK_SHADE;
      context.fillRect(x(mark.from), 0, wide, height);
      context.globalAlpha = 1;
      context.fillRect(x(mark.from), height - MARK_LINE, wide, MARK_LINE);
    }
  }

  #paint() {
    if (!this.#take) return;
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = window.devicePixelRatio || 1;
    this.#canvas.width = width * scale;
    this.#canvas.height = height * scale;
    const context = this.#canvas.getContext("2d");
    context.scale(scale, scale);
    const { color, outlineColor, borderTopColor } = getComputedStyle(this.#canvas); // resolved, unlike custom properties
    this.#paintMarks(context, width, height, borderTopColor);
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
    this.#audio.play().catch((error) => error.name === "AbortError" || this.#stop()); // a pause came first
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
