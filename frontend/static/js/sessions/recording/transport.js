/**
 * The player of a recording: an audio element with a button, a time and speeds. It tells where it is at every frame
 * while it plays.
 *
 * Events: "position" (detail: {seconds, playing}).
 */
import { h, icon, setIcon, setText } from "../../shared/page/dom.js";
import { clock } from "../../i18n/format.js";
import { setLabel } from "../words.js";

const SPEEDS = [0.75, 1, 1.25, 1.5, 2];

export class Transport extends EventTarget {
  #audio;
  #seconds;
  #frame = null;
  #play = h("button", { class: "button-play", id: "play", type: "button", disabled: true }, icon("play"));
  #time = h("span", { class: "session-time" }, clock(0));
  #speed = h("select", { id: "speed" }, SPEEDS.map((speed) => h("option", { value: speed, selected: speed === 1 }, `${speed}×`)));

  /** @param {HTMLElement} place @param {HTMLAudioElement} audio @param {number} seconds of the recording */
  constructor(place, audio, seconds) {
    super();
    this.#audio = audio;
    this.#seconds = seconds;
    const speed = h("label", { class: "session-speed" }, h("span", { "data-i18n": "session.speed" }), this.#speed);
    place.replaceChildren(this.#play, h("p", { class: "session-clock" }, this.#time, h("span", {}, ` / ${clock(seconds)}`)), speed);
    this.#play.addEventListener("click", () => this.toggle());
    this.#speed.addEventListener("change", () => (audio.playbackRate = Number(this.#speed.value)));
    for (const type of ["play", "pause", "seeked", "ended", "timeupdate"]) audio.addEventListener(type, () => this.#tell());
    this.#tell();
  }

  /** @param {string} url of the audio */
  open(url) {
    this.#audio.src = url;
    this.#audio.preservesPitch = true;
    this.#play.disabled = false;
  }

  toggle() {
    if (this.#play.disabled) return;
    if (this.#audio.paused) this.play();
    else this.pause();
  }

  pause() {
    this.#audio.pause();
  }

  async play() {
    try {
      await this.#audio.play();
    } catch (error) {
      if (error.name !== "AbortError") throw error; // a pause came first
    }
  }

  /** Goes there and plays. @param {number} seconds */
  playFrom(seconds) {
    this.seek(seconds);
    if (!this.#play.disabled) this.play();
  }

  /** @param {number} seconds */
  seek(seconds) {
    // A touch inside the word, or rounding would light up the one before.
    this.#audio.currentTime = Math.max(0, Math.min(this.#seconds, seconds + 0.001));
    this.#tell();
  }

  #tell() {
    const playing = !this.#audio.paused && !this.#audio.ended;
    setIcon(this.#play, playing ? "pause" : "play");
    setLabel(this.#play, playing ? "stage.pause" : "stage.play");
    setText(this.#time, clock(this.#audio.currentTime));
    this.dispatchEvent(new CustomEvent("position", { detail: { seconds: this.#audio.currentTime, playing } }));
    if (!playing) return;
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      if (!this.#audio.paused) this.#tell();
    });
  }
}
