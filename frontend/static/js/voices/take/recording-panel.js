/**
 * Recording a voice: a text to read, a countdown, a level that says when to speak up, and the take to listen to, trim
 * or do again.
 *
 * Events: "change": there is a take, or none any more; "examined": something else is said of it.
 */
import { Recorder } from "../../audio/recorder.js";
import { h, icon, setIcon, setText } from "../../shared/page/dom.js";
import { clock } from "../../i18n/format.js";
import { setMessage } from "../../i18n/i18n.js";
import { LevelMeter } from "./level-meter.js";
import { LONGEST_SECONDS, Take } from "./take.js";
import { TakeView } from "./take-view.js";

const COUNTDOWN = 3;
const SECOND_MS = 1000;

export class RecordingPanel extends EventTarget {
  #recorder = new Recorder();
  #blocks = [];
  #state = "idle";
  #attempt = 0;
  #meter = new LevelMeter();
  #view;
  #advice;
  #time = h("span", { class: "rec-time", "aria-hidden": "true" }, "0:00.0");
  #words = h("span", {});
  #button = h("button", { class: "button rec-button", type: "button", id: "voice-record" }, icon("mic"), this.#words);
  #hint = h("p", { class: "rec-hint", role: "status", "aria-live": "polite" });

  /** @type {Take | null} */
  take = null;

  /** @param {{advice?: string}} [options] the message before a take; others as of `TakeView` */
  constructor({ advice = "record.advice", ...shown } = {}) {
    super();
    this.#view = new TakeView(shown);
    this.#view.element.addEventListener("examined", () => this.dispatchEvent(new Event("examined")));
    this.#advice = advice;
    this.#button.addEventListener("click", () => this.#press());
    this.#recorder.addEventListener("block", ({ detail }) => this.#hear(detail));
    this.element = h(
      "div",
      { class: "rec", "data-state": "idle" },
      h("div", { class: "rec-bar" }, this.#button, this.#meter.element, this.#time),
      this.#hint,
      this.#view.element,
    );
    this.#show("idle");
  }

  /** As of `TakeView`. */
  get refused() {
    return this.#view.refused;
  }

  /** As of `TakeView`. @param {boolean | null} denoise */
  set denoise(denoise) {
    this.#view.denoise = denoise;
  }

  /** Forgets the take and lets the microphone go. */
  reset() {
    this.#attempt += 1;
    this.#recorder.close();
    this.take = null;
    this.#view.show(null);
    this.#meter.show(0);
    setText(this.#time, clock(0));
    this.#show("idle");
  }

  /** Lets the microphone go; what was recorded by now is the take. */
  leave() {
    this.#view.silence();
    if (this.#state === "recording") this.#finish();
    else if (this.#state !== "idle") this.reset();
  }

  #press() {
    if (this.#state === "idle") this.#start();
    else if (this.#state === "recording") this.#finish();
    else this.reset();
  }

  async #start() {
    this.reset();
    const attempt = this.#attempt;
    this.#show("opening");
    this.dispatchEvent(new Event("change"));
    try {
      await this.#recorder.open();
    } catch (error) {
      if (attempt !== this.#attempt) return; // cancelled, or begun anew
      this.reset();
      setMessage(this.#hint, error.name === "NotAllowedError" ? "record.refused" : "record.noMicrophone");
      return;
    }
    this.#countDown(COUNTDOWN, attempt);
  }

  #countDown(seconds, attempt) {
    if (attempt !== this.#attempt) return;
    if (seconds === 0) {
      this.#blocks = [];
      this.#show("recording");
      return;
    }
    this.#show("counting");
    setMessage(this.#hint, "record.countdown", { seconds });
    setTimeout(() => this.#countDown(seconds - 1, attempt), SECOND_MS);
  }

  #hear(block) {
    this.#meter.show(block);
    if (this.#state !== "recording") return;
    this.#blocks.push(block);
    const seconds = this.#blocks.reduce((total, { length }) => total + length, 0) / this.#recorder.sampleRate;
    setText(this.#time, clock(seconds));
    setMessage(this.#hint, `record.level.${this.#meter.verdict}`);
    if (seconds >= LONGEST_SECONDS) this.#finish();
  }

  #finish() {
    const rate = this.#recorder.sampleRate;
    this.#recorder.close();
    this.take = this.#blocks.length > 0 ? new Take(this.#blocks, rate) : null;
    this.#meter.show(0);
    this.#show("idle");
    this.#view.show(this.take);
    this.dispatchEvent(new Event("change"));
  }

  #show(state) {
    this.#state = state;
    this.element.dataset.state = state;
    const idle = state === "idle";
    setIcon(this.#button, idle ? "mic" : state === "recording" ? "stop" : "close");
    const again = idle && this.take ? "record.again" : "record.start";
    setMessage(this.#words, idle ? again : state === "recording" ? "record.stop" : "dialog.cancel");
    setMessage(this.#hint, this.take ? "text.plain" : this.#advice, { text: "" });
  }
}
