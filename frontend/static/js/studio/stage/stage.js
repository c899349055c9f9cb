/**
 * The stage: waveform, play head, transport, tiles, and the one line that says what is going on.
 *
 * Shows what it is told and turns clicks and arrow keys into the events "toggle", "download", "another" (the same with
 * another seed), "subtitles" (detail: format), "speed" (detail: a factor) and "seek" (detail: seconds). Figures that tests and scripts read are in its data attributes.
 */
import { byId, icon, setIcon, setText } from "../../shared/page/dom.js";
import { clock, latency, minutes, ratio } from "../../i18n/format.js";
import { setLabel, setMessage, t } from "../../i18n/i18n.js";
import { showProblem } from "../../shared/notices/problem-notice.js";
import { SUBTITLE_FORMATS } from "../../shared/hearing/subtitles.js";
import { SpokenText } from "./spoken-text.js";
import { Transport } from "./transport.js";
import { Waveform } from "./waveform.js";

const SEEK_STEP_SECONDS = 1;

export class Stage extends EventTarget {
  #element = byId("stage");
  #track = byId("track");
  #play = byId("play");
  #download = byId("download");
  #another = byId("another");
  #transport = new Transport();
  #spoken = new SpokenText(byId("spoken"), byId("spoken-text"));
  #subtitles = SUBTITLE_FORMATS.map((format) => byId(`download-${format}`));
  #error = byId("error");
  #wave = new Waveform(byId("wave"));
  #utterance = null;
  #playing = false;
  #over = false;

  constructor() {
    super();
    this.#play.append(icon("play"));
    this.#play.addEventListener("click", () => this.#emit("toggle"));
    this.#download.prepend(icon("download"));
    this.#download.addEventListener("click", () => this.#emit("download"));
    this.#another.prepend(icon("dice"));
    this.#another.addEventListener("click", () => this.#emit("another"));
    this.#transport.addEventListener("skip", ({ detail }) => this.#seek(this.#wave.positionSeconds + detail));
    this.#transport.addEventListener("speed", ({ detail }) => this.#emit("speed", detail));
    this.#spoken.addEventListener("seek", ({ detail }) => this.#seek(detail));
    this.#subtitles.forEach((button, index) => {
      button.addEventListener("click", () => this.#emit("subtitles", SUBTITLE_FORMATS[index]));
    });
    this.#track.addEventListener("pointerdown", ({ clientX }) => this.#seek(this.#wave.secondsAt(clientX)));
    this.#track.addEventListener("keydown", (event) => this.#trackKey(event));
  }

  /** @param {import("../utterance.js").Utterance} utterance @param {number} expectedSeconds */
  begin(utterance, expectedSeconds) {
    this.#utterance = utterance;
    this.#over = false;
    this.#wave.begin(utterance, expectedSeconds);
    this.#error.hidden = true;
    for (const button of [this.#play, this.#download, this.#another]) button.disabled = true;
    this.#transport.enable(false);
    this.#spoken.begin(utterance);
    this.#showSubtitles(false);
    for (const tile of ["first", "rtf", "ahead", "underruns"]) setText(byId(`tile-${tile}`), "–");
    Object.assign(this.#element.dataset, { playedSamples: 0, receivedSamples: 0, underruns: 0, player: "buffering" });
    byId("session-link").hidden = true;
    this.#showTime();
    this.#element.scrollIntoView({ block: "nearest" });
  }

  /** Where the play head is, in [0, 1]. */
  get fraction() {
    const total = this.#utterance?.audioSeconds ?? 0;
    return total > 0 ? Math.min(1, this.#wave.positionSeconds / total) : 0;
  }

  /** @param {string} state empty, connecting, queued, streaming, done, cancelled, failed or replayed */
  setState(state) {
    this.#element.dataset.state = state;
    const over = ["done", "cancelled", "failed", "replayed"].includes(state);
    this.#over = over;
    if (over) this.#wave.complete();
    this.#download.disabled = !(over && this.#utterance?.samples);
    this.#another.disabled = !over;
    this.#showSubtitles(over);
    this.#showTime();
  }

  /** Says one thing, aloud too where a screen reader listens. @param {string | (() => string)} text */
  say(text) {
    setMessage(byId("status"), "text.plain", { text });
  }

  /** @param {{message: string, code?: string}} problem @param {Record<string, () => void>} actions of showProblem */
  showProblem(problem, actions) {
    showProblem(this.#error, problem, actions);
  }

  hideProblem() {
    this.#error.hidden = true;
  }

  /** @param {string | null} id of the recorded session to link to */
  showSession(id) {
    byId("session-link").hidden = !id;
    if (id) byId("session-link").href = `/sessions/${encodeURIComponent(id)}`;
  }

  /** New audio has arrived. */
  received() {
    const { samples, firstAudioSeconds, realTimeFactor } = this.#utterance;
    this.#play.disabled = false;
    this.#transport.enable(true);
    this.#element.dataset.receivedSamples = samples;
    setText(byId("tile-first"), latency(firstAudioSeconds));
    setText(byId("tile-rtf"), ratio(realTimeFactor));
    this.#wave.draw();
    this.#showTime();
  }

  /** The times of more words are known. */
  showWords() {
    this.#spoken.grow();
  }

  /** @param {{rtf: number}} outcome the server's own figures, once the clip is complete */
  showOutcome({ rtf }) {
    if (typeof rtf === "number") setText(byId("tile-rtf"), ratio(rtf));
  }

  /** @param {object} report of the player */
  played(report) {
    this.#wave.update(report);
    const { state, playedSamples, bufferedSamples, underruns } = report;
    Object.assign(this.#element.dataset, { playedSamples, underruns, player: state });
    setText(byId("tile-ahead"), latency(bufferedSamples / this.#utterance.sampleRate));
    setText(byId("tile-underruns"), underruns);
    byId("tile-underruns").classList.toggle("bad", underruns > 0);
    this.#showPlaying(state === "playing" || state === "buffering");
    this.#spoken.move(this.#wave.positionSeconds, state === "playing");
    this.#showTime();
  }

  /** @param {boolean} over whether the clip is complete, or as complete as it gets */
  #showSubtitles(over) {
    const source = this.#utterance?.subtitles.source ?? null;
    for (const button of this.#subtitles) button.disabled = !(over && source);
    this.#element.dataset.times = source ?? "";
    setMessage(byId("words-source"), over && source ? `words.${source}` : "words.title");
  }

  #showPlaying(playing) {
    if (playing === this.#playing) return;
    this.#playing = playing;
    setIcon(this.#play, playing ? "pause" : "play");
    setLabel(this.#play, playing ? "stage.pause" : "stage.play");
  }

  #showTime() {
    const position = this.#wave.positionSeconds;
    const total = this.#utterance?.audioSeconds ?? 0;
    setText(byId("time"), clock(position));
    this.#showEnd(total);
    this.#track.setAttribute("aria-valuemax", total.toFixed(1));
    this.#track.setAttribute("aria-valuenow", position.toFixed(1));
    const place = t("stage.position", { position: position.toFixed(1), total: Math.round(total) });
    this.#track.setAttribute("aria-valuetext", place);
    this.#track.setAttribute("aria-disabled", String(total === 0));
  }

  /** The time at the right edge of the waveform: while the clip is made it stands for what is expected. */
  #showEnd(total) {
    if (total === 0) setMessage(byId("total"), "text.plain", { text: "" });
    else if (this.#over) setMessage(byId("total"), "text.plain", { text: clock(total) });
    else setMessage(byId("total"), "stage.about", { time: minutes(this.#wave.endSeconds) });
  }

  #trackKey(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
    const total = this.#utterance?.audioSeconds ?? 0;
    if (event.key === " ") this.#emit("toggle");
    else if (event.key === "Home") this.#seek(0);
    else if (event.key === "End") this.#seek(total);
    else if (event.key in steps) this.#seek(this.#wave.positionSeconds + steps[event.key] * SEEK_STEP_SECONDS);
    else return;
    event.preventDefault();
  }

  #seek(seconds) {
    const total = this.#utterance?.audioSeconds ?? 0;
    if (total > 0) this.#emit("seek", Math.max(0, Math.min(total, seconds)));
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
