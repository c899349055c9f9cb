/**
 * The live page: text from the box goes into a conversation, and what is heard of it lights up in the script.
 */
import { byId } from "../shared/page/dom.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { fleet, pageConfig } from "../shared/service/fleet.js";
import { openKeySheet } from "../shared/service/key-sheet.js";
import { followKeyboard } from "../shared/page/keyboard.js";
import { mountNav } from "../shared/page/nav.js";
import { needsKey, problemText } from "../shared/notices/problems.js";
import { showProblem } from "../shared/notices/problem-notice.js";
import { QueueBanner } from "../shared/notices/queue-banner.js";
import { bindShortcuts } from "../shared/page/shortcuts.js";
import { SlowNotice } from "../shared/notices/slow-notice.js";
import { Remembered } from "../shared/page/storage.js";
import { Parameters } from "../studio/request/parameters.js";
import { SAMPLES } from "../studio/request/samples.js";
import { VoiceDesk } from "../voices/making/voice-desk.js";
import { VoicePicker } from "../voices/choosing/voice-picker.js";
import { Composer } from "./composer.js";
import { Controls } from "./controls.js";
import { Conversation } from "./conversation.js";
import { Files } from "./files.js";
import { Lamp } from "./lamp.js";
import { LaterNote } from "./later-note.js";
import { lastWords } from "./script.js";
import { ScriptView } from "./script-view.js";
import { Tiles } from "./tiles.js";
import { TranscriptMemory } from "./transcript-memory.js";
import { setMessage, t } from "./words.js";

class Live {
  #memory = new Remembered("live");
  #saved = this.#memory.load();
  #config = {};
  #parameters = null;
  #conversation = new Conversation();
  #lamp = new Lamp({ lamp: byId("lamp"), words: byId("lamp-words"), elapsed: byId("elapsed"), note: byId("note") }, this.#conversation);
  #slow = new SlowNotice(byId("slow"), { making: "live.slow", action: "slow.save" }, () => this.#files.saveWav());
  #voices = new VoicePicker(byId("voices"));
  #desk = new VoiceDesk(this.#voices, byId("voice-new"), () => this.#parameters.values);
  #view = new ScriptView(byId("transcript"));
  #tiles = new Tiles(byId("tiles"));
  #record = byId("record");
  #composer = new Composer(
    { area: byId("text"), hint: byId("hint"), modes: byId("modes"), feed: byId("feed") },
    this.#saved,
    () => this.#conversation.room,
  );
  #controls = new Controls(byId("buttons"), {
    start: () => this.#startOrStop(),
    interrupt: () => this.#interrupt(),
    pause: () => this.#togglePause(),
    flush: () => this.#flush(),
  });
  #queue = new QueueBanner(byId("queue"), byId("start"), () => this.#leave());
  #files = new Files(byId("word-files"), this.#conversation);
  #later = new LaterNote(byId("later"), () => this.#startAnew());
  #transcript = new TranscriptMemory();
  /** Whether the next session's words stand behind those that are there. */
  #goesOn = false;
  #frame = null;

  async open() {
    const loaded = this.#load(); // asked first: it takes longest
    followKeyboard();
    const status = mountNav(byId("nav"), { onHelp: () => byId("help").showModal() });
    new FleetStatus(status, () => this.#load()).start();
    this.#record.checked = Boolean(this.#saved.record);
    this.#setParameters({});
    this.#bind();
    this.#lamp.show();
    this.#showKept();
    await loaded;
  }

  #bind() {
    const on = (type, action) => this.#conversation.addEventListener(type, ({ detail }) => action(detail));
    on("state", (state) => this.#showState(state));
    on("queued", (news) => this.#queue.show(news));
    on("appended", () => this.#view.grown());
    on("room", () => this.#composer.more());
    on("news", () => {
      this.#showSlow();
      this.#draw();
    });
    on("cancelled", (news) => this.#cancelled(news));
    on("failed", (problem) => this.#showProblem(problem));
    on("complaint", (problem) => this.#showProblem(problem));
    this.#composer.addEventListener("text", ({ detail }) => this.#conversation.append(detail));
    this.#composer.addEventListener("flush", () => this.#conversation.flush());
    this.#composer.addEventListener("wanted", () => this.#start());
    this.#composer.addEventListener("entered", () => this.#conversation.busy || this.#start());
    byId("example").addEventListener("click", () => this.#hearExample());
    window.addEventListener("pagehide", () => this.#keep());
    for (const each of [this.#composer, this.#voices]) each.addEventListener("change", () => this.#remember());
    this.#composer.addEventListener("edited", () => this.#remember());
    this.#record.addEventListener("change", () => this.#remember());
    this.#desk.addEventListener("said", ({ detail }) => this.#say(detail));
    this.#desk.addEventListener("renew", ({ detail }) => this.#renewVoices(detail));
    this.#files.addEventListener("failed", ({ detail }) => this.#showProblem(detail));
    window.addEventListener("apikey", () => this.#load());
    bindShortcuts({
      "Ctrl+Enter": () => this.#flush(),
      Escape: () => this.#interrupt(),
      Space: () => this.#togglePause(),
      "?": () => byId("help").showModal(),
    });
  }

  /** @param {string} chosen id of a voice that was made or changed */
  async #renewVoices(chosen) {
    byId("error").hidden = true; // it may have been of the voice
    await this.#load(chosen);
    this.#remember();
  }

  async #load(chosen = this.#voices.voice?.id ?? this.#saved.voice) {
    if (!this.#voices.voice) this.#voices.showLoading();
    try {
      const [config, voices] = await Promise.all([pageConfig(), fleet.voices()]);
      this.#config = config;
      this.#setParameters(config);
      this.#offerRecording(config.record_sessions);
      this.#desk.offer(config);
      this.#voices.show(voices, chosen);
    } catch (error) {
      this.#voices.showError(problemText(error), () => this.#load());
      if (needsKey(error)) openKeySheet(error);
    }
  }

  /** @param {"off" | "ask" | "all" | undefined} recording what the gateway does about recordings */
  #offerRecording(recording) {
    byId("record-field").hidden = recording === "off";
    this.#record.disabled = recording === "all";
    if (recording === "all") this.#record.checked = true;
  }

  #setParameters(config) {
    this.#parameters = new Parameters(byId("parameters"), config, this.#parameters?.kept ?? this.#saved.parameters);
    this.#parameters.addEventListener("change", () => this.#remember());
    this.#showMoved();
  }

  #showMoved() {
    const count = Object.keys(this.#parameters.values).length;
    setMessage(byId("advanced-note"), count ? "parameters.changed" : "parameters.defaults", { count });
  }

  /** @param {string} [unheard] text that is sent and would be lost with the page */
  #remember(unheard = "") {
    this.#showMoved();
    this.#later.show(this.#options, this.#conversation.busy);
    const voice = this.#voices.voice?.id ?? this.#saved.voice;
    const { text, ...rest } = this.#composer.settings;
    const settings = { ...rest, voice, record: this.#record.checked, parameters: this.#parameters.kept };
    this.#memory.save({ ...settings, text: unheard + text });
  }

  /** The page may be gone: the transcript and what nobody has heard are there when it is loaded again. */
  #keep() {
    this.#transcript.save(this.#view.paragraphs);
    this.#remember(this.#conversation.busy ? this.#conversation.unheard : "");
  }

  #showKept() {
    const paragraphs = this.#transcript.load();
    if (paragraphs.length === 0) return;
    this.#view.restore(paragraphs);
    this.#goesOn = true;
    this.#say(() => t("live.said.kept"));
  }

  get #options() {
    const recorded = this.#record.checked && !byId("record-field").hidden ? { record: true } : {};
    return { voice: this.#voices.value, ...this.#parameters.values, ...recorded };
  }

  #startOrStop() {
    const { state, busy } = this.#conversation;
    if (!busy) this.#start();
    else if (state === "ending") this.#conversation.leave();
    else if (["queued", "preparing"].includes(state)) this.#leave();
    else {
      if (this.#composer.mode === "typed") this.#composer.sendAll();
      this.#conversation.stop();
    }
  }

  #start() {
    byId("error").hidden = true;
    byId("recording").hidden = true;
    const after = this.#goesOn;
    this.#later.begin(this.#options);
    this.#conversation.start(this.#options, this.#config.sample_rate ?? 24000);
    this.#view.begin(this.#conversation.script, { after });
    this.#composer.accept(true);
  }

  #hearExample() {
    this.#composer.hear(SAMPLES.find(({ name }) => name === "harbour").text);
    byId("start").focus(); // its own button makes room for the words
  }

  /** Ends the session, and begins one with what is set now and what was not heard. */
  #startAnew() {
    this.#leave();
    this.#goesOn = true;
    this.#start();
  }

  /** Ends it at once; what nobody has heard is in the box again. */
  #leave() {
    const { unheard } = this.#conversation;
    this.#conversation.leave();
    this.#composer.takeBack(unheard);
  }

  #flush() {
    if (!this.#conversation.busy) {
      this.#start();
      return;
    }
    if (this.#composer.mode === "typed") this.#composer.sendAll();
    this.#conversation.flush();
  }

  #interrupt() {
    if (this.#conversation.interrupt()) this.#composer.hold();
  }

  #togglePause() {
    if (this.#conversation.state === "live") this.#conversation.pause();
    else this.#conversation.resume();
  }

  #showState(state) {
    this.#lamp.show();
    this.#controls.show(state, this.#conversation.facts.releaseReason);
    byId("stage").dataset.state = state;
    this.#queue.element.dataset.state = state;
    if (state !== "queued") this.#queue.hide({ turn: state === "live" });
    if (!this.#conversation.open) this.#composer.accept(false);
    if (state === "failed") this.#composer.takeBack(this.#conversation.unspoken);
    if (["ended", "failed"].includes(state)) this.#goesOn = state === "failed";
    this.#later.show(this.#options, this.#conversation.busy);
    this.#transcript.save(this.#view.paragraphs);
    const { sessionId } = this.#conversation.facts;
    byId("recording").hidden = !sessionId || this.#conversation.busy;
    if (sessionId) byId("recording").href = `/sessions/${encodeURIComponent(sessionId)}`;
    this.#say(() => t(`live.said.${state}`));
    this.#files.show();
    this.#showSlow();
    this.#draw();
  }

  #showSlow() {
    const { busy, hearing } = this.#conversation;
    if (!hearing.slow) this.#slow.hide();
    else if (busy) this.#slow.showSlow();
    else if (hearing.keepsAll) this.#slow.offerClip();
    else this.#slow.hide();
  }

  #cancelled({ spoken_text: spoken }) {
    this.#view.cut();
    const quote = lastWords(spoken.trim());
    this.#say(() => (quote ? t("live.said.interrupted", { text: quote }) : t("live.said.interruptedUnheard")));
  }

  /** Shows what is heard, at every frame while something moves. */
  #draw() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      const heard = this.#conversation.hearing.sample;
      this.#view.show(this.#conversation.script.characterAt(heard));
      this.#tiles.show(this.#conversation);
      Object.assign(byId("stage").dataset, { heardSample: Math.round(heard), underruns: this.#conversation.hearing.underruns });
      if (this.#conversation.busy) this.#draw();
    });
  }

  /** @param {() => string} text said again in another language */
  #say(text) {
    setMessage(byId("status"), "text.plain", { text });
  }

  #showProblem(problem) {
    showProblem(byId("error"), problem, {
      again: () => this.#conversation.busy || this.#start(),
      voice: () => this.#load().then(() => this.#voices.focus()), // of those that are still there
      consent: () => this.#desk.agree(this.#voices.value),
      text: () => this.#composer.focus(),
      settings: () => (byId("advanced").open = true),
    });
  }
}

new Live().open();
