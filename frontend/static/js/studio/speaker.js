/**
 * From a request to sound: joins a session (the socket), an utterance (what arrived) and the player.
 *
 * Events: "state" (connecting, queued, streaming, done, cancelled, failed; replayed for one that was kept), "queued", "audio",
 * "timestamps" (words of a part are known), "report" (of the player), "reconnecting", "failed" {message, code}. One utterance at a time; speak() ends the last one.
 */
import { JitterEstimator } from "../audio/jitter.js";
import { PlaybackReporter } from "../audio/playback-reporter.js";
import { Player } from "../audio/player.js";
import { fleet } from "../shared/service/fleet.js";
import { SoundTurn } from "../shared/hearing/tabs.js";
import { Feed, KEPT_SECONDS } from "./feed.js";
import { Utterance } from "./utterance.js";

const now = () => performance.now() / 1000;

export class Speaker extends EventTarget {
  #player = new Player();
  #jitter = new JitterEstimator();
  #session = null;
  #feed = null;
  #report = null;
  #reporter = null;
  #ready = Promise.resolve();
  #turn = new SoundTurn(() => this.#player.pause());

  /** Whether the gateway takes reports of the playback. */
  reports = false;

  /** @type {Utterance | null} the current or last one */
  utterance = null;
  outcome = null;

  constructor() {
    super();
    this.#player.addEventListener("report", ({ detail }) => this.#played(detail));
  }

  /** Whether an utterance waits or streams. */
  get busy() {
    return this.#session !== null;
  }

  /**
   * Asks for an utterance and plays it as it comes. Call inside a click or key press.
   * @param {object} request body of POST /tts @param {number} expectedSampleRate to open the device early
   */
  speak(request, expectedSampleRate) {
    this.stop();
    this.#player.stop();
    const opened = this.#player.prepare(expectedSampleRate);
    this.utterance = new Utterance(request, now());
    this.#feed?.stop();
    this.#feed = null;
    this.outcome = null;
    this.#report = null;
    this.#jitter.beginUtterance();
    const { text, ...options } = request;
    const session = fleet.stream(text, { ...options, timestamps: "word", resume: true });
    this.#session = session;
    // The server's answer whether it takes reports may come after the click.
    this.#reporter = new PlaybackReporter((figures) => this.reports && session.report(figures));
    this.#listen(session);
    this.#emit("state", "connecting");
    opened.catch((error) => this.#noDevice(session, error));
  }

  /** Leaves the queue, or stops generating and playing; what has arrived can still be heard. */
  stop() {
    this.#session?.cancel();
    this.#player.pause();
  }

  /**
   * Plays a complete utterance. Call inside a click or key press.
   * @param {Utterance} utterance @param {object} outcome @param {number} fraction where to start, in [0, 1]
   */
  replay(utterance, outcome, fraction = 0) {
    this.stop();
    this.#session = this.#reporter = null;
    this.utterance = utterance;
    this.outcome = outcome;
    this.#report = null;
    this.#begin(0, Math.round(fraction * utterance.samples));
    this.#ready.catch(({ message }) => this.#emit("failed", noDevice(message)));
    this.#afterReady((feed) => feed.end());
    this.#emit("state", "replayed");
  }

  /** @param {string} deviceId where the sound comes out @returns {Promise<void>} */
  setOutput(deviceId) {
    return this.#player.setOutput(deviceId);
  }

  /** @param {number} rate speed of the playback, in [0.5, 2] */
  setRate(rate) {
    this.#player.setRate(rate);
  }

  toggle() {
    if (["playing", "buffering"].includes(this.#report?.state)) this.#player.pause();
    else if (this.#report?.state === "ended") this.seek(0);
    else this.#player.play();
  }

  /** @param {number} seconds place in what has arrived; playback goes on from there */
  seek(seconds) {
    if (this.#feed === null) return; // there is nothing yet
    const position = Math.round(seconds * this.utterance.sampleRate);
    if (this.#feed.holds(position)) this.#player.seek(position);
    else this.#beginAt(position);
    if (this.#report?.state === "ended") this.#player.play();
  }

  /** Where the player has not, or no longer, what is to be heard. */
  #beginAt(position) {
    const { complete } = this.#feed;
    const paused = this.#report?.state === "paused";
    this.#begin(this.#jitter.seconds, position);
    this.#ready.catch(({ message }) => this.#emit("failed", noDevice(message)));
    this.#afterReady((feed) => {
      if (paused) this.#player.pause();
      if (complete) feed.end();
      else feed.fill();
    });
  }

  #begin(prerollSeconds, from) {
    this.#feed?.stop();
    this.#feed = new Feed(this.#player, this.utterance, from);
    this.#ready = this.#player.begin(this.utterance.sampleRate, prerollSeconds, { keptSeconds: KEPT_SECONDS, from });
  }

  #played(report) {
    this.#report = { ...report, bufferedSamples: this.utterance.samples - report.position };
    this.#feed.moved(report.position);
    this.#turn.note(report.state === "playing");
    this.#reporter?.note(this.#report, this.utterance.sampleRate);
    this.#emit("report", this.#report);
  }

  #listen(session) {
    const on = (type, action) => {
      session.addEventListener(type, ({ detail }) => {
        if (session === this.#session) action(detail);
      });
    };
    on("queued", (news) => {
      this.#emit("state", "queued");
      this.#emit("queued", news);
    });
    on("started", (news) => this.#started(session, news));
    on("audio", (bytes) => this.#received(bytes));
    on("timestamps", (part) => {
      this.utterance.subtitles.take(part);
      this.#emit("timestamps", part);
    });
    on("audioDone", () => this.#afterReady((feed) => feed.end()));
    on("done", (outcome) => this.#over("done", outcome));
    on("cancelled", (outcome) => this.#over("cancelled", outcome));
    on("reconnecting", (news) => this.#emit("reconnecting", news));
    on("failed", (problem) => this.#fail(session, problem));
  }

  #started(session, news) {
    this.utterance.start(news, now());
    this.#begin(this.#jitter.seconds, 0);
    this.#ready.catch((error) => this.#noDevice(session, error));
    this.#emit("state", "streaming");
  }

  #received(bytes) {
    const at = this.utterance.samples;
    const samples = this.utterance.receive(bytes, now());
    this.#jitter.observe(now(), samples.length / this.utterance.sampleRate);
    this.#afterReady((feed) => {
      feed.arrived(samples, at);
      this.#player.setPreroll(this.#jitter.seconds);
    });
    this.#emit("audio", samples);
  }

  /** The player opens asynchronously; what arrives before is pushed in order once it is open. */
  #afterReady(action) {
    const feed = this.#feed;
    this.#ready = this.#ready.then(() => {
      if (feed !== null && feed === this.#feed) action(feed);
    });
    this.#ready.catch(() => null); // reported where the player was opened
  }

  #over(state, outcome) {
    this.#reporter?.flush();
    this.#session = this.#reporter = null;
    this.outcome = outcome;
    this.#afterReady((feed) => feed.end());
    this.#emit("state", state);
  }

  #noDevice(session, { message }) {
    this.#fail(session, noDevice(message));
  }

  #fail(session, problem) {
    if (session !== this.#session) return;
    session.cancel();
    this.#over("failed", {});
    this.#emit("failed", problem);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

function noDevice(message) {
  return { code: "no_device", message };
}
