/**
 * The recording as a picture to seek in: its outline, under it a strip with one piece per utterance, coloured by
 * worker, with a tick per chunk and a mark where the listener interrupted or the speech moved to another worker.
 */
import { h } from "../../shared/page/dom.js";
import { fitted, waveColours } from "../../shared/page/wave-canvas.js";
import { clock } from "../../i18n/format.js";
import { setLabel, t } from "../words.js";

const BAR_PIXELS = 3;
const PITCH_PIXELS = 5;
const STRIP_PIXELS = 10;
const STEP_SECONDS = 2;
const WORKER_COLOURS = ["#4b7a75", "#5b6fa8", "#9a6a4f", "#7d5a8c", "#6b8a3f"];
const MARK_COLOUR = "#f3bb63";
const QUIET = 0.25;

export class Lane extends EventTarget {
  #canvas = h("canvas", {});
  #narrative;
  #envelope = null;
  #seconds = 0;
  #marks = [];
  #colours = {};
  #workers = [];
  #frame = null;

  /** @param {HTMLElement} place @param {import("./narrative.js").Narrative} narrative */
  constructor(place, narrative) {
    super();
    this.#narrative = narrative;
    this.#workers = [...new Set(narrative.utterances.flatMap(({ workers }) => workers))];
    this.element = h("div", { class: "lane-track", role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": narrative.seconds.toFixed(1) }, this.#canvas);
    setLabel(this.element, "session.seek");
    place.replaceChildren(this.element);
    this.element.addEventListener("pointerdown", (event) => this.#drag(event));
    this.element.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#draw()).observe(this.#canvas);
    this.#colours = waveColours(this.element);
    this.show(0);
  }

  /** @param {import("../../audio/envelope.js").Envelope} envelope of the whole recording */
  setEnvelope(envelope) {
    this.#envelope = envelope;
    this.#draw();
  }

  /** @param {number[]} seconds places to mark */
  setMarks(seconds) {
    this.#marks = seconds;
    this.#draw();
  }

  /** @param {number} seconds where the play head is */
  show(seconds) {
    this.#seconds = seconds;
    this.element.setAttribute("aria-valuenow", seconds.toFixed(1));
    this.element.setAttribute("aria-valuetext", t("session.position", { position: clock(seconds), total: clock(this.#narrative.seconds) }));
    this.#draw();
  }

  #seek(seconds) {
    const detail = Math.max(0, Math.min(this.#narrative.seconds, seconds));
    this.dispatchEvent(new CustomEvent("seek", { detail }));
  }

  #drag(event) {
    const seek = ({ clientX }) => {
      const { left, width } = this.#canvas.getBoundingClientRect();
      this.#seek(((clientX - left) / width) * this.#narrative.seconds);
    };
    seek(event);
    this.element.setPointerCapture(event.pointerId);
    this.element.addEventListener("pointermove", seek);
    const over = () => this.element.removeEventListener("pointermove", seek);
    for (const type of ["pointerup", "pointercancel"]) this.element.addEventListener(type, over, { once: true });
  }

  #key(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5 };
    if (event.key === "Home") this.#seek(0);
    else if (event.key === "End") this.#seek(this.#narrative.seconds);
    else if (event.key in steps) this.#seek(this.#seconds + steps[event.key] * STEP_SECONDS);
    else return;
    event.preventDefault();
  }

  #draw() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      this.#paint();
    });
  }

  #paint() {
    const { context, width, height } = fitted(this.#canvas);
    if (width < PITCH_PIXELS || this.#narrative.seconds <= 0) return;
    const place = (seconds) => (seconds / this.#narrative.seconds) * width;
    this.#paintWave(context, width, height - STRIP_PIXELS - 8, place(this.#seconds));
    for (const utterance of this.#narrative.utterances) this.#paintUtterance(context, utterance, place, height - STRIP_PIXELS);
    context.fillStyle = MARK_COLOUR;
    for (const seconds of this.#marks) context.fillRect(place(seconds) - 1, height - STRIP_PIXELS - 5, 2, STRIP_PIXELS + 5);
    context.fillStyle = this.#colours.head;
    context.fillRect(Math.min(width - 1.5, place(this.#seconds)), 0, 1.5, height);
  }

  #paintWave(context, width, height, head) {
    const columns = Math.floor(width / PITCH_PIXELS);
    const peaks = this.#envelope?.columns(columns, this.#narrative.seconds) ?? new Float32Array(columns).fill(NaN);
    const ceiling = Math.max(QUIET, this.#envelope?.loudest ?? 0);
    peaks.forEach((peak, column) => {
      const known = !Number.isNaN(peak);
      const x = column * PITCH_PIXELS;
      const tall = known ? Math.max(BAR_PIXELS, (peak / ceiling) ** 0.75 * height) : 2;
      context.fillStyle = this.#colours[x < head ? "played" : known ? "arrived" : "expected"];
      context.beginPath();
      context.roundRect(x, (height - tall) / 2, BAR_PIXELS, tall, BAR_PIXELS / 2);
      context.fill();
    });
  }

  #paintUtterance(context, { from, to, segments, chunks }, place, top) {
    const wide = Math.max(2, place(to) - place(from) - 2);
    for (const [part, segment] of segments.entries()) {
      context.fillStyle = WORKER_COLOURS[Math.max(0, this.#workers.indexOf(segment.worker)) % WORKER_COLOURS.length];
      context.beginPath();
      context.roundRect(place(segment.from), top, Math.max(2, place(segment.to) - place(segment.from) - 2), STRIP_PIXELS, 3);
      context.fill();
      if (part === 0) continue;
      context.fillStyle = this.#colours.head;
      context.fillRect(place(segment.from) - 2, top - 4, 2, STRIP_PIXELS + 4);
    }
    if (chunks.length * 4 > wide) return; // ticks closer than that are a grey mass
    context.fillStyle = "#08171999";
    for (const chunk of chunks.slice(1)) context.fillRect(place(chunk.from), top + 2, 1, STRIP_PIXELS - 4);
  }
}
