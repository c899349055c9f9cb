/**
 * The studio page: wires text, voice and parameters to the speaker, and the speaker to the stage.
 */
import { copyButton } from "../shared/clipboard.js";
import { byId, setText } from "../shared/dom.js";
import { FleetStatus } from "../shared/fleet-status.js";
import { fleet, pageConfig } from "../shared/fleet.js";
import { setMessage, t } from "../shared/i18n.js";
import { openKeySheet } from "../shared/key-sheet.js";
import { mountNav } from "../shared/nav.js";
import { needsKey, problemText } from "../shared/problems.js";
import { QueueBanner } from "../shared/queue-banner.js";
import { bindShortcuts } from "../shared/shortcuts.js";
import { Remembered } from "../shared/storage.js";
import { Composer } from "./composer.js";
import { curlCommand } from "./curl.js";
import { downloadClip } from "./download.js";
import { estimateSeconds } from "./estimate.js";
import { GenerateButton } from "./generate-button.js";
import { narrate } from "./narration.js";
import { Parameters, drawSeed } from "./parameters.js";
import { Speaker } from "./speaker.js";
import { Stage } from "./stage.js";
import { VoicePicker } from "../voices/voice-picker.js";

class Studio {
  #memory = new Remembered("studio");
  #saved = this.#memory.load();
  #config = {};
  #parameters = null;
  #state = "empty";
  #speaker = new Speaker();
  #stage = new Stage();
  #voices = new VoicePicker(byId("voices"));
  #queue = new QueueBanner(byId("queue"), () => this.#speaker.stop());
  #format = byId("format");
  #button = new GenerateButton(byId("generate"), () => (this.#speaker.busy ? this.#speaker.stop() : this.#generate()));
  #composer = new Composer(
    { area: byId("text"), counter: byId("counter"), samples: byId("samples") },
    this.#saved.text,
  );

  async open() {
    const status = mountNav(byId("nav"), { onHelp: () => byId("help").showModal() });
    const lamp = new FleetStatus(status);
    lamp.addEventListener("ready", () => this.#load());
    lamp.start();
    this.#setParameters({});
    this.#format.value = this.#saved.format ?? "wav";
    byId("copy").append(copyButton(() => byId("curl").textContent, "code.copy"));
    this.#bind();
    this.#settingsChanged();
    await this.#load();
  }

  /** What the gateway knows of the model; again when the first worker has come up. */
  #load() {
    return Promise.all([this.#loadConfig(), this.#loadVoices()]);
  }

  #bind() {
    window.addEventListener("apikey", () => this.#load());
    this.#composer.addEventListener("change", () => this.#settingsChanged());
    this.#voices.addEventListener("change", () => this.#settingsChanged());
    this.#format.addEventListener("change", () => this.#settingsChanged());
    this.#bindStage();
    this.#bindSpeaker();
    bindShortcuts({
      "Ctrl+Enter": () => this.#generate(),
      Escape: () => this.#speaker.stop(),
      Space: () => this.#speaker.toggle(),
      "?": () => byId("help").showModal(),
    });
  }

  #bindStage() {
    this.#stage.addEventListener("toggle", () => this.#speaker.toggle());
    this.#stage.addEventListener("seek", ({ detail }) => this.#speaker.seek(detail));
    this.#stage.addEventListener("download", () => this.#download());
  }

  #bindSpeaker() {
    const on = (type, action) => this.#speaker.addEventListener(type, ({ detail }) => action(detail));
    on("state", (state) => this.#showState(state));
    on("queued", (news) => this.#queue.show(news));
    on("audio", () => this.#stage.received());
    on("report", (report) => this.#stage.played(report));
    on("reconnecting", () => this.#stage.say(() => t("state.reconnecting")));
    on("failed", (problem) => this.#showProblem(problem));
  }

  async #loadConfig() {
    try {
      this.#config = await pageConfig({ renew: true });
    } catch (error) {
      this.#showProblem(error);
      return;
    }
    this.#composer.setLimit(this.#config.max_text_characters ?? Infinity);
    this.#setParameters(this.#config);
  }

  async #loadVoices() {
    const chosen = this.#voices.voice?.id ?? this.#saved.voice;
    this.#voices.showLoading();
    try {
      this.#voices.show(await fleet.voices(), chosen);
    } catch (error) {
      this.#voices.showError(problemText(error), () => this.#loadVoices());
      if (needsKey(error)) openKeySheet(error);
    }
    this.#settingsChanged();
  }

  #setParameters(config) {
    this.#parameters = new Parameters(byId("parameters"), config, this.#parameters?.values ?? this.#saved.parameters);
    this.#parameters.addEventListener("change", () => this.#settingsChanged());
  }

  /** The body of POST /tts for what the page shows. */
  #request() {
    return { text: this.#composer.text, voice: this.#voices.value, ...this.#parameters.values };
  }

  #generate() {
    const { problem } = this.#composer;
    if (problem) {
      this.#stage.say(problem);
      this.#composer.focus();
      return;
    }
    const request = { seed: drawSeed(), ...this.#request() };
    this.#speaker.speak(request, this.#config.sample_rate ?? 24000);
  }

  #showState(state) {
    this.#state = state;
    const { utterance, outcome } = this.#speaker;
    if (state === "connecting") this.#stage.begin(utterance, estimateSeconds(utterance.request.text));
    if (state !== "queued") this.#queue.hide({ turn: state === "streaming" });
    if (state === "done") this.#stage.showOutcome(outcome);
    this.#stage.setState(state);
    this.#stage.say(() => narrate(state, utterance, outcome));
    this.#button.show(this.#speaker.busy ? state : "idle");
  }

  #showProblem(problem) {
    this.#stage.showError(() => problemText(problem));
    if (needsKey(problem)) openKeySheet(problem);
  }

  #settingsChanged() {
    const moved = Object.keys(this.#parameters.values).length;
    setMessage(byId("advanced-note"), moved ? "parameters.changed" : "parameters.defaults", { count: moved });
    const request = { ...this.#request(), format: this.#format.value };
    setText(byId("curl"), curlCommand(location.origin, request));
    this.#memory.save({
      text: this.#composer.text,
      voice: this.#voices.voice?.id ?? this.#saved.voice,
      format: this.#format.value,
      parameters: this.#parameters.values,
    });
  }

  async #download() {
    const format = this.#format.value;
    const { utterance } = this.#speaker;
    if (format !== "wav") this.#stage.say(() => t("stage.making", { format }));
    try {
      await downloadClip(utterance, format);
      const { outcome } = this.#speaker;
      if (utterance === this.#speaker.utterance) this.#stage.say(() => narrate(this.#state, utterance, outcome));
    } catch (error) {
      this.#showProblem(error);
    }
  }
}

new Studio().open();
