/**
 * The studio page: wires text, voice and parameters to the speaker, and the speaker to the stage and the history.
 */
import { lexiconButton } from "../lexicon/lexicon-sheet.js";
import { byId } from "../shared/page/dom.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { pageConfig } from "../shared/service/fleet.js";
import { setMessage, t } from "../i18n/i18n.js";
import { mountNav } from "../shared/page/nav.js";
import { QueueBanner } from "../shared/notices/queue-banner.js";
import { bindShortcuts } from "../shared/page/shortcuts.js";
import { SlowNotice } from "../shared/notices/slow-notice.js";
import { Remembered } from "../shared/page/storage.js";
import { WakeLock } from "../shared/hearing/wake-lock.js";
import { VoiceDesk } from "../voices/making/voice-desk.js";
import { VoiceList } from "../voices/choosing/voice-list.js";
import { voiceName } from "../voices/voice-name.js";
import { VoicePicker } from "../voices/choosing/voice-picker.js";
import { CodePanel } from "./code-panel.js";
import { Composer } from "./request/composer.js";
import { downloadSubtitles } from "./history/download.js";
import { estimateSeconds } from "./request/estimate.js";
import { GenerateButton } from "./request/generate-button.js";
import { History } from "./history/history.js";
import { narrate } from "./stage/narration.js";
import { ModelChoice } from "./request/model-choice.js";
import { OutputChoice } from "./output-choice.js";
import { Parameters, drawSeed } from "./request/parameters.js";
import { RecordChoice } from "./request/record-choice.js";
import { ScriptWarning } from "./request/script-warning.js";
import { saveClip } from "./saving.js";
import { shareButton } from "./share-button.js";
import { followLinks, fromFragment } from "./share-link.js";
import { Speaker } from "./speaker.js";
import { Stage } from "./stage/stage.js";
import { Welcome } from "./welcome.js";

class Studio {
  #memory = new Remembered("studio");
  #saved = { ...this.#memory.load(), ...fromFragment(location.hash) };
  #config = {};
  #parameters = null;
  #state = "empty";
  #speaker = new Speaker();
  #stage = new Stage();
  #awake = new WakeLock();
  #history = new History(() => this.#stage.fraction);
  #voices = new VoicePicker(byId("voices"));
  #list = new VoiceList(this.#voices, this.#saved.voice);
  #desk = new VoiceDesk(this.#voices, byId("voice-new"), () => this.#parameters.values);
  #queue = new QueueBanner(byId("queue"), byId("generate"), () => this.#speaker.stop());
  #slow = new SlowNotice(byId("slow"), { making: "slow.studio", action: "slow.play" }, () => this.#replay());
  #output = new OutputChoice(byId("output-field"), byId("output"));
  #record = new RecordChoice(byId("record-field"), byId("record"));
  #code = new CodePanel(byId("code-body"));
  #format = byId("format");
  #model = new ModelChoice(byId("model-field"), byId("model"), this.#saved.model);
  #welcome = new Welcome();
  #warning = new ScriptWarning();
  #button = new GenerateButton(byId("generate"), () => (this.#speaker.busy ? this.#speaker.stop() : this.#generate()));
  #composer = new Composer(
    { area: byId("text"), counter: byId("counter"), samples: byId("samples"), problem: byId("text-problem") },
    this.#saved.text,
  );

  async open() {
    const loaded = this.#load(); // asked first: it takes longest
    const status = mountNav(byId("nav"), { onHelp: () => byId("help").showModal() });
    new FleetStatus(status, () => this.#load()).start();
    this.#setParameters({});
    this.#format.value = this.#saved.format ?? "wav";
    this.#bind();
    this.#settingsChanged();
    this.#history.load();
    this.#output.load().then(() => this.#speaker.setOutput(this.#output.device));
    await loaded;
  }

  /** What the gateway knows of the model; again when the first worker has come up. */
  #load() {
    return Promise.all([this.#loadConfig(), this.#loadVoices()]);
  }

  #bind() {
    window.addEventListener("apikey", () => this.#load());
    followLinks((settings) => this.#apply(settings));
    this.#list.offered = (voice) => this.#model.speaks(voice);
    this.#model.addEventListener("change", () => {
      this.#useModel();
      this.#loadVoices();
    });
    for (const part of [this.#composer, this.#voices, this.#format, this.#record]) {
      part.addEventListener("change", () => this.#settingsChanged());
    }
    this.#output.addEventListener("change", ({ detail }) => this.#speaker.setOutput(detail));
    this.#desk.addEventListener("said", ({ detail }) => this.#stage.say(detail));
    this.#desk.addEventListener("renew", ({ detail }) => {
      this.#stage.hideProblem(); // it may have been of the voice
      this.#loadVoices(detail);
    });
    this.#welcome.addEventListener("hear", () => this.#generate());
    this.#warning.addEventListener("anyway", () => this.#generate());
    this.#bindStage();
    this.#bindSpeaker();
    this.#bindHistory();
    bindShortcuts({
      "Ctrl+Enter": () => this.#generate(),
      Escape: () => this.#speaker.stop(),
      Space: () => this.#speaker.toggle(),
      "/": () => this.#voices.focus(),
      x: () => this.#history.switchSides(),
      "?": () => byId("help").showModal(),
    });
  }

  #bindStage() {
    this.#stage.addEventListener("toggle", () => this.#speaker.toggle());
    this.#stage.addEventListener("seek", ({ detail }) => this.#speaker.seek(detail));
    this.#stage.addEventListener("speed", ({ detail }) => this.#speaker.setRate(detail));
    this.#stage.addEventListener("another", () => this.#another());
    this.#stage.addEventListener("download", () => this.#download(this.#speaker.utterance));
    this.#stage.addEventListener("subtitles", ({ detail }) => downloadSubtitles(this.#speaker.utterance, detail));
  }

  #bindSpeaker() {
    const on = (type, action) => this.#speaker.addEventListener(type, ({ detail }) => action(detail));
    on("state", (state) => this.#showState(state));
    on("queued", (news) => this.#queue.show(news));
    on("audio", () => {
      this.#stage.received();
      if (this.#speaker.utterance.slow) this.#slow.showSlow();
    });
    on("report", (report) => {
      this.#stage.played(report);
      this.#awake.set(this.#speaker.busy || report.state === "playing");
    });
    on("timestamps", () => this.#stage.showWords());
    on("reconnecting", () => this.#stage.say(() => t("state.reconnecting")));
    on("failed", (problem) => this.#showProblem(problem));
  }

  #bindHistory() {
    const on = (type, action) => this.#history.addEventListener(type, ({ detail }) => action(detail));
    on("replay", ({ utterance, outcome, fraction }) => this.#speaker.replay(utterance, outcome, fraction));
    on("download", (utterance) => this.#download(utterance));
    on("said", (words) => this.#stage.say(words));
    on("restore", ({ text, voice, model, ...parameters }) => this.#apply({ text, voice, model, parameters }));
  }

  /** Settings of a clip, or of a link. */
  #apply({ text, voice, model, parameters }) {
    if (text !== undefined) this.#composer.text = text;
    if (model !== undefined) {
      this.#model.choose(model);
      this.#useModel();
    }
    if (voice) this.#voices.select(voice);
    if (parameters) this.#parameters.set(parameters);
    this.#composer.focus();
    this.#stage.say(() => t("history.used"));
  }

  async #loadConfig() {
    try {
      this.#config = await pageConfig();
    } catch (error) {
      this.#showProblem(error, () => this.#load());
      return;
    }
    this.#welcome.show(this.#config);
    this.#composer.setLimit(this.#config.max_text_characters ?? Infinity);
    this.#speaker.reports = this.#config.playback_stats === true;
    this.#record.offer(this.#config);
    this.#desk.offer(this.#config);
    this.#model.offer(this.#config);
    this.#useModel();
  }

  /** What depends on the model that will speak. */
  #useModel() {
    const config = this.#model.configOf(this.#config);
    this.#warning.config = config;
    this.#setParameters(config);
    this.#settingsChanged();
  }

  async #loadVoices(chosen) {
    if (await this.#list.load(chosen)) this.#showProblem({ code: "unknown_voice", message: "" });
    this.#settingsChanged();
  }

  #setParameters(config) {
    this.#parameters = new Parameters(byId("parameters"), config, this.#parameters?.kept ?? this.#saved.parameters);
    this.#parameters.addEventListener("change", () => this.#settingsChanged());
    byId("parameters").append(shareButton(() => this.#settings(), (words) => this.#stage.say(words)), lexiconButton());
  }

  /** Plays what is complete from its start. */
  #replay() {
    this.#speaker.replay(this.#speaker.utterance, this.#speaker.outcome);
  }

  /** The body of POST /tts for what the page shows. */
  #request() {
    return { text: this.#composer.text, voice: this.#voices.value, ...this.#model.fields, ...this.#parameters.values, ...this.#record.fields };
  }

  #generate() {
    const { problem } = this.#composer;
    if (problem) {
      this.#stage.hideProblem(); // of another text
      this.#composer.complain(problem);
      return;
    }
    if (this.#warning.holds(this.#composer.text)) return;
    this.#speak({ seed: drawSeed(), ...this.#request() });
  }

  /** @param {number} beside entry of the history that it will be compared with */
  #speak(request, beside) {
    this.#history.makes(beside);
    this.#speaker.speak(request, this.#config.sample_rate ?? 24000);
  }

  /** What is on the stage once more, with another seed, and beside it when both are kept. */
  #another() {
    this.#speak({ ...this.#speaker.utterance.request, seed: drawSeed() }, this.#history.shown);
  }

  #showState(state) {
    this.#state = state;
    const { utterance, outcome } = this.#speaker;
    const fresh = state === "connecting" || state === "replayed";
    if (fresh) this.#stage.begin(utterance, estimateSeconds(utterance.request.text));
    if (state === "replayed") this.#stage.received();
    if (state !== "queued") this.#queue.hide({ turn: state === "streaming" });
    if (state === "done" || state === "replayed") this.#stage.showOutcome(outcome);
    this.#stage.setState(state);
    this.#narrate();
    this.#button.show(this.#speaker.busy ? state : "idle");
    this.#awake.set(this.#speaker.busy);
    if (["done", "cancelled", "failed", "replayed"].includes(state)) this.#stage.showSession(utterance.sessionId);
    if (["done", "cancelled", "failed"].includes(state)) this.#keep(utterance, outcome);
    if (fresh) this.#slow.hide();
    else if (!this.#speaker.busy && this.#slow.shown) this.#slow.offerClip();
  }

  async #keep(utterance, outcome) {
    const voice = this.#voices.voices.find(({ id }) => id === utterance.request.voice);
    const { workerId: worker_id, sessionId: session_id } = utterance;
    const id = await this.#history.keep(utterance, { ...outcome, worker_id, session_id }, voice && voiceName(voice));
    if (utterance === this.#speaker.utterance) this.#history.shows(id);
  }

  /** @param {() => void} again what failed, once more */
  #showProblem(problem, again = () => this.#generate()) {
    this.#stage.showProblem(problem, {
      again,
      voice: () => this.#loadVoices().then(() => this.#voices.focus()), // of those that are still there
      consent: () => this.#desk.agree(this.#speaker.utterance.request.voice),
      text: () => this.#composer.focus(),
      settings: () => this.#openSettings(),
    });
  }

  #openSettings() {
    byId("advanced").open = true;
    byId("seed").focus();
  }

  #settings() {
    return {
      text: this.#composer.text,
      voice: this.#voices.voice?.id ?? this.#saved.voice,
      format: this.#format.value,
      model: this.#model.wanted,
      parameters: this.#parameters.kept,
    };
  }

  #settingsChanged() {
    this.#warning.check(this.#composer.text);
    const moved = Object.keys(this.#parameters.values).length;
    setMessage(byId("advanced-note"), moved ? "parameters.changed" : "parameters.defaults", { count: moved });
    this.#code.show({ ...this.#request(), format: this.#format.value });
    this.#memory.save(this.#settings());
  }

  #download(utterance) {
    return saveClip(utterance, this.#format.value, this.#stage, () => utterance === this.#speaker.utterance && this.#narrate());
  }

  /** How it is with what is on the stage. */
  #narrate() {
    const { utterance, outcome } = this.#speaker;
    this.#stage.say(() => narrate(this.#state, utterance, outcome));
  }
}

new Studio().open();
