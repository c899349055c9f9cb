/**
 * The listener's side of a live session: what came is played, and where the listener is can be asked at any time.
 *
 * Event "report" (detail: the player's) comes whenever that has changed.
 */
import { JitterEstimator } from "../audio/jitter.js";
import { Pace } from "../audio/pace.js";
import { PcmDecoder, encodeWav } from "../audio/pcm.js";
import { Player } from "../audio/player.js";
import { SampleMap } from "./sample-map.js";

const KEPT_SECONDS = 600;
const now = () => performance.now() / 1000;

export class Hearing extends EventTarget {
  #player = new Player();
  #jitter = new JitterEstimator();
  #pace = new Pace();
  #kept = [];
  #keptSamples = 0;
  #ready = Promise.resolve();
  #turn = 0;
  #decoder = null;
  #map = null;
  #report = null;

  sampleRate = 24000;
  /** Whether audio of this session ever came more slowly than it is heard. */
  slow = false;

  constructor() {
    super();
    this.#player.addEventListener("report", ({ detail }) => {
      this.#report = { ...detail, at: now() };
      this.dispatchEvent(new CustomEvent("report", { detail }));
    });
  }

  /** Whether anything was heard of the player since it began. */
  get begun() {
    return this.#report !== null;
  }

  /** Whether it sounds now. */
  get playing() {
    return this.#report?.state === "playing";
  }

  /** Sample of the session that is heard now. */
  get sample() {
    if (!this.#report) return 0;
    const { state, position, bufferedSamples, at } = this.#report;
    const moved = state === "playing" ? (now() - at) * this.sampleRate : 0;
    return this.#map.toSession(position + Math.min(bufferedSamples, moved));
  }

  /** Seconds of audio that have come and were not heard; null before there was any. */
  get bufferedSeconds() {
    return this.#report ? this.#report.bufferedSamples / this.sampleRate : null;
  }

  get underruns() {
    return this.#report?.underruns ?? 0;
  }

  /** What the server likes to know of it. */
  get figures() {
    const buffered = Math.round(1000 * (this.bufferedSeconds ?? 0));
    return { played_samples: Math.round(this.sample), underruns: this.underruns, buffered_ms: buffered };
  }

  /** Forgets the last session, and opens the device. @throws when the browser can not */
  prepare(sampleRate) {
    this.#turn += 1;
    this.#report = null;
    this.#map = new SampleMap();
    this.#decoder = new PcmDecoder();
    this.#jitter.beginUtterance();
    this.#pace.begin();
    this.#kept = [];
    this.#keptSamples = 0;
    this.slow = false;
    return this.#player.prepare(sampleRate);
  }

  /** Audio is going to come. @throws when the browser can not open the device */
  begin(sampleRate) {
    this.sampleRate = sampleRate;
    this.#ready = this.#player.begin(sampleRate, this.#jitter.seconds, { keptSeconds: 1 });
    return this.#ready;
  }

  /** The next sentence: how late its chunks come is judged anew. */
  utterance() {
    this.#jitter.beginUtterance();
    this.#pace.begin();
  }

  /** @param {ArrayBuffer} pcm @param {number} firstSample of the session @returns {number} the sample after it */
  receive(pcm, firstSample) {
    const samples = this.#decoder.push(pcm);
    this.#jitter.observe(now(), samples.length / this.sampleRate);
    this.#pace.observe(now(), samples.length / this.sampleRate);
    this.slow ||= this.#pace.slow;
    this.#keep(samples);
    this.#map.add(firstSample, samples.length);
    this.#then(() => {
      this.#player.push(samples);
      this.#player.setPreroll(this.#jitter.seconds);
    });
    return firstSample + samples.length;
  }

  /** Barge-in: silence, and nothing is heard of what has come. @returns {number} the sample up to which it was */
  flush() {
    const { sample } = this;
    this.#then(() => this.#player.flush());
    if (this.#report) this.#report = { ...this.#report, state: "buffering", bufferedSamples: 0 };
    return sample;
  }

  pause() {
    this.#pace.begin();
    this.#player.pause();
  }

  play() {
    this.#pace.begin();
    this.#player.play();
  }

  /** Nothing is due for now. */
  idle() {
    this.#then(() => this.#player.idle());
  }

  /** No audio follows. */
  end() {
    this.#then(() => this.#player.end());
  }

  /** Silence for good. */
  stop() {
    this.#turn += 1;
    this.#player.stop();
  }

  /** A message "timestamps" in the seconds of `wav()`: of the session's audio some may never have come. */
  fitted(news) {
    const moved = (seconds) => this.#map.toPlayer(seconds * this.sampleRate) / this.sampleRate;
    const fit = (timed) => ({ ...timed, start_seconds: moved(timed.start_seconds), end_seconds: moved(timed.end_seconds) });
    return { ...news, words: news.words.map(fit), cues: news.cues.map(fit) };
  }

  /** Whether there is audio, and not too much to keep. */
  get keepsAll() {
    return this.#keptSamples > 0 && this.#keptSamples <= KEPT_SECONDS * this.sampleRate;
  }

  /** @returns {Blob | null} all that came, as a WAV file; null where that is nothing, or too much to keep */
  wav() {
    return this.keepsAll ? new Blob([encodeWav(this.#kept, this.sampleRate)], { type: "audio/wav" }) : null;
  }

  #keep(samples) {
    this.#keptSamples += samples.length;
    if (this.#keptSamples <= KEPT_SECONDS * this.sampleRate) this.#kept.push(samples);
    else this.#kept = [];
  }

  /** The player opens asynchronously; what arrives before is done in order once it is open. */
  #then(action) {
    const turn = this.#turn;
    this.#ready = this.#ready.then(() => {
      if (turn === this.#turn) action();
    });
    this.#ready.catch(() => null); // reported where the player was opened
  }
}
