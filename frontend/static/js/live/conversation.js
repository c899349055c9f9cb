/**
 * A live session that is heard: joins the socket, the ears and the script of what was appended.
 *
 * States: "ready", "preparing", "queued", "live", "pausing", "paused", "released", "ending" (what is appended is still
 * spoken), "ended", "failed". Events: "state" (detail: the state), "queued", "appended", "room" (for more text),
 * "news" (of script or figures), "idle" (detail: seconds until it is closed), "cancelled" {spoken_text}, "failed" {message, code},
 * "complaint" (likewise, and the session goes on).
 */
import { fleet } from "../shared/service/fleet.js";
import { Subtitles } from "../shared/hearing/subtitles.js";
import { SoundTurn } from "../shared/hearing/tabs.js";
import { Hearing } from "./hearing.js";
import { Script } from "./script.js";

const REPORT_MS = 5000;
/** Appended text that nobody has begun to speak is bounded by the server (live_text_characters, 8192). */
const MOST_WAITING = 8000;
const BUSY = ["preparing", "queued", "live", "pausing", "paused", "released", "ending"];
const now = () => performance.now() / 1000;

export class Conversation extends EventTarget {
  #session = null;
  #cutAt = [];
  /** [characters, time] of what was appended before the first utterance, and when that was complete. */
  #sent = [];
  #completeAt = 0;
  #reporting = null;
  #turn = new SoundTurn(() => this.hearing.playing && this.pause());

  hearing = new Hearing();
  script = new Script();
  /** When the words are said in `hearing.wav()`, as far as that is known. */
  #subtitles = new Subtitles("");
  state = "ready";
  /** What is known: {startedAt, liveAt, firstAudioSeconds, endedAt, sessionId, workerId, releaseAt, outcome} */
  facts = {};

  constructor() {
    super();
    this.hearing.addEventListener("report", ({ detail }) => {
      this.#turn.note(detail.state === "playing");
      if (detail.state === "ended" && this.facts.outcome && this.busy) this.#over("ended");
      else this.#emit("news");
    });
  }

  /** Whether there is a session, and whether it still takes text. */
  get busy() {
    return BUSY.includes(this.state);
  }

  get open() {
    return this.busy && this.state !== "ending";
  }

  /** How many characters may be appended now. */
  get room() {
    return this.open ? Math.max(0, MOST_WAITING - this.script.waiting) : 0;
  }

  /**
   * Opens a session. Call inside a click or key press: browsers start audio only then.
   * @param {object} options of "start" @param {number} expectedSampleRate to open the device early
   */
  start(options, expectedSampleRate) {
    this.leave();
    this.script = new Script();
    this.#subtitles = new Subtitles("");
    this.#cutAt = [];
    this.#sent = [];
    this.#completeAt = 0;
    this.facts = { startedAt: now() };
    const opened = this.hearing.prepare(expectedSampleRate);
    const session = fleet.live({ ...options, timestamps: "word" });
    this.#session = session;
    this.#listen(session);
    this.#setState("preparing");
    opened.catch((error) => this.#noDevice(session, error));
    this.#reporting = setInterval(() => this.#tellServer(), REPORT_MS);
  }

  /** @param {string} text the next piece */
  append(text) {
    if (!this.open || text === "") return;
    this.facts.closesAt = null;
    this.script.append(text);
    if (!this.script.utterances) this.#sent.push([this.script.length, now()]);
    this.#session.append(text);
    this.#emit("appended");
  }

  /** What was appended and is not spoken: it would be lost with the connection. */
  get unspoken() {
    return this.script.unspoken;
  }

  /** What was appended and is not heard: it would be lost with the page. */
  get unheard() {
    return this.script.unheardAfter(this.script.characterAt(this.hearing.sample));
  }

  flush() {
    if (this.open) this.#session.flush();
  }

  /** Barge-in: silence at once; what was not heard is dropped. @returns {boolean} whether there was something to cut into */
  interrupt() {
    if (!["live", "pausing", "paused"].includes(this.state)) return false;
    this.#cutAt.push(this.script.length);
    this.#session.cancel(this.hearing.flush());
    return true;
  }

  pause() {
    if (this.state !== "live") return;
    this.hearing.pause();
    this.#session.pause();
    this.#setState("pausing");
  }

  resume() {
    if (!["pausing", "paused"].includes(this.state) && this.facts.releaseReason !== "pause") return;
    this.facts.releaseReason = null;
    this.#session.resume();
    this.hearing.play();
    this.#setState(this.state === "released" ? "preparing" : "live");
  }

  /** What was appended is spoken to its end, and then it is over. */
  stop() {
    if (!this.open) return;
    this.resume();
    this.#session.stop();
    this.#setState("ending");
  }

  /** Ends it at once, silent. */
  leave() {
    if (!this.busy) return;
    this.#session.close();
    this.hearing.stop();
    this.#over("ended");
  }

  #listen(session) {
    const on = (type, action) => {
      session.addEventListener(type, ({ detail }) => {
        if (session === this.#session) action(detail);
      });
    };
    on("queued", (news) => {
      this.#unlessEnding("queued");
      this.#emit("queued", news);
    });
    on("started", (news) => this.#started(session, news));
    on("utterance", (news) => {
      if (news.index === 0) this.#completeAt = this.#sent.find(([length]) => length >= news.end)?.[1] ?? 0;
      this.script.utterance(news);
      this.hearing.utterance();
      this.#emit("room");
    });
    on("utterance_done", (news) => {
      this.script.done(news);
      if (!this.script.hasSentence) this.hearing.idle();
    });
    on("timestamps", (news) => {
      this.script.timed(news);
      this.#subtitles.take(this.hearing.fitted(news));
    });
    on("audio", (news) => this.#received(news));
    on("cancelled", (news) => this.#cancelled(news));
    on("paused", ({ limit_seconds: limit }) => this.#paused(limit));
    on("resumed", () => this.#unlessEnding("live"));
    on("released", ({ reason }) => {
      this.facts.releaseReason = reason;
      this.#unlessEnding("released");
    });
    on("idle", ({ closes_in_seconds: seconds }) => this.#idle(seconds));
    on("done", (outcome) => this.#done(outcome));
    on("complaint", (problem) => this.#emit("complaint", problem));
    on("failed", (problem) => this.#fail(session, problem));
  }

  /** "aligned", "estimated" or "mixed"; null where no times of words are known. */
  get timesSource() {
    return this.#subtitles.source;
  }

  /** @param {string} format of SUBTITLE_FORMATS @returns {Blob} when the words are said in `hearing.wav()` */
  subtitles(format) {
    return new Subtitles(this.script.text(0, this.script.length), this.#subtitles.parts).file(format);
  }

  /** A worker has taken it; again after it was released. */
  #started(session, { sample_rate: sampleRate, worker_id: workerId, session_id: sessionId }) {
    Object.assign(this.facts, { workerId, releaseReason: null });
    this.facts.sessionId = sessionId ?? this.facts.sessionId ?? null;
    if (this.facts.liveAt === undefined) {
      this.facts.liveAt = now();
      this.script.sampleRate = sampleRate;
      this.hearing.begin(sampleRate).catch((error) => this.#noDevice(session, error));
    }
    this.#unlessEnding("live");
  }

  #received({ pcm, firstSample }) {
    this.facts.firstAudioSeconds ??= now() - Math.max(this.#completeAt, this.facts.liveAt);
    this.script.received(this.hearing.receive(pcm, firstSample));
    this.#emit("news");
  }

  #cancelled(news) {
    this.script.cancelled(news.spoken_characters, this.#cutAt.shift() ?? this.script.length);
    this.#emit("cancelled", news);
  }

  #paused(limitSeconds) {
    if (!["pausing", "paused"].includes(this.state)) return; // resumed meanwhile
    this.facts.releaseAt = typeof limitSeconds === "number" ? now() + limitSeconds : null;
    this.#setState("paused");
  }

  /** @param {number | undefined} seconds until a session that nothing happens in is closed */
  #idle(seconds) {
    this.hearing.idle();
    this.facts.closesAt = typeof seconds === "number" ? now() + seconds : null;
    this.#emit("idle", seconds);
  }

  /** Nothing more is coming; it is over when what came was heard. */
  #done(outcome) {
    this.facts.outcome = outcome;
    this.facts.sessionId ??= outcome.session_id ?? null;
    if (this.facts.firstAudioSeconds === undefined) {
      this.#over("ended");
      return;
    }
    this.hearing.end();
    this.#setState("ending");
  }

  #tellServer() {
    if (this.hearing.begun && !this.#session.finished) this.#session.report(this.hearing.figures);
  }

  #over(state) {
    clearInterval(this.#reporting);
    this.facts.endedAt = now();
    this.#setState(state);
  }

  #noDevice(session, { message }) {
    this.#fail(session, { code: "no_device", message });
  }

  #fail(session, problem) {
    if (session !== this.#session || !this.busy) return;
    session.close();
    this.hearing.end();
    this.#over("failed");
    this.#emit("failed", problem);
  }

  #unlessEnding(state) {
    if (this.state !== "ending") this.#setState(state);
  }

  #setState(state) {
    this.state = state;
    this.#emit("state", state);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
