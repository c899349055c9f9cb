/**
 * The studio page: wires text, voice and parameters to the speaker, and the speaker to the stage.
 */
import { requestJson } from "../shared/api.js";
import { copyButton } from "../shared/clipboard.js";
import { byId, h, icon, setText } from "../shared/dom.js";
import { duration, latency, plural, ratio } from "../shared/format.js";
import { mountNav } from "../shared/nav.js";
import { bindShortcuts } from "../shared/shortcuts.js";
import { Remembered } from "../shared/storage.js";
import { Composer } from "./composer.js";
import { curlCommand } from "./curl.js";
import { downloadClip } from "./download.js";
import { estimateSeconds } from "./estimate.js";
import { FleetStatus } from "./fleet-status.js";
import { Parameters, drawSeed } from "./parameters.js";
import { QueueBanner } from "./queue-banner.js";
import { Speaker } from "./speaker.js";
import { Stage } from "./stage.js";
import { VoicePicker } from "./voice-picker.js";

const GENERATE_FACES = {
  idle: ["spark", "Generate"],
  connecting: ["stop", "Stop"],
  queued: ["close", "Leave queue"],
  streaming: ["stop", "Stop"],
};

class Studio {
  #memory = new Remembered("studio");
  #saved = this.#memory.load();
  #config = {};
  #parameters = null;
  #state = "empty";
  #speaker = new Speaker(`${location.origin.replace(/^http/, "ws")}/ws/tts`);
  #stage = new Stage();
  #voices = new VoicePicker(byId("voices"));
  #queue = new QueueBanner(byId("queue"), () => this.#speaker.stop());
  #format = byId("format");
  #button = byId("generate");
  #composer = new Composer(
    { area: byId("text"), counter: byId("counter"), samples: byId("samples") },
    this.#saved.text,
  );

  async open() {
    const status = mountNav(byId("nav"), { onHelp: () => byId("help").showModal() });
    const fleet = new FleetStatus(status);
    fleet.addEventListener("ready", () => this.#load());
    fleet.start();
    this.#setParameters({});
    this.#format.value = this.#saved.format ?? "wav";
    byId("copy").append(copyButton(() => byId("curl").textContent, "Copy the curl command"));
    this.#bind();
    this.#showButton("idle");
    this.#settingsChanged();
    await this.#load();
  }

  /** What the gateway knows of the model; again when the first worker has come up. */
  #load() {
    return Promise.all([this.#loadConfig(), this.#loadVoices()]);
  }

  #bind() {
    this.#button.addEventListener("click", () => (this.#speaker.busy ? this.#speaker.stop() : this.#generate()));
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
    on("failed", ({ message }) => this.#stage.showError(message));
  }

  async #loadConfig() {
    try {
      this.#config = await requestJson("/api/config");
    } catch (error) {
      this.#stage.showError(error.message);
      return;
    }
    this.#composer.setLimit(this.#config.max_text_characters ?? Infinity);
    this.#setParameters(this.#config);
  }

  async #loadVoices() {
    const chosen = this.#voices.voice?.id ?? this.#saved.voice;
    this.#voices.showLoading();
    try {
      const { voices } = await requestJson("/api/voices");
      this.#voices.show(voices, chosen);
    } catch (error) {
      this.#voices.showError(error.message, () => this.#loadVoices());
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
    if (state !== "queued") this.#queue.hide();
    if (state === "done") this.#stage.showOutcome(outcome);
    this.#stage.setState(state);
    this.#stage.say(this.#describe(state));
    this.#showButton(this.#speaker.busy ? state : "idle");
  }

  #describe(state) {
    const { utterance, outcome } = this.#speaker;
    const heard = utterance.samples ? duration(Math.round(utterance.audioSeconds)) : null;
    switch (state) {
      case "connecting":
        return "Connecting";
      case "queued":
        return "Waiting in line";
      case "streaming":
        return `Speaking on ${utterance.workerId}`;
      case "cancelled":
        return [outcome.asked ? "Stopped." : "Cancelled by an administrator.", heard && `${heard} can be played.`]
          .filter(Boolean)
          .join(" ");
      case "failed":
        return heard ? `Failed after ${heard} of audio.` : "Failed.";
      default:
        return this.#summary(utterance, outcome);
    }
  }

  #summary({ request, audioSeconds, firstAudioSeconds }, { rtf, finish_reason: reason, migrations }) {
    const cut = { length: "reached the longest allowed clip", runaway: "cut where the speech ran away" }[reason];
    const moved = migrations > 0 ? `moved ${plural(migrations, "time")} to another worker` : null;
    const facts = [
      `${audioSeconds.toFixed(1)} s of speech`,
      `first audio after ${latency(firstAudioSeconds)}`,
      `real-time factor ${ratio(rtf)}`,
      `seed ${request.seed}`,
      cut,
      moved,
    ];
    return facts.filter(Boolean).join(" · ");
  }

  #showButton(state) {
    const [name, words] = GENERATE_FACES[state];
    if (this.#button.dataset.face === words) return;
    this.#button.dataset.face = words;
    this.#button.dataset.state = state;
    const keys = state === "idle" ? h("kbd", { "aria-hidden": "true" }, "Ctrl ↵") : null;
    this.#button.replaceChildren(icon(name), words, ...(keys ? [keys] : []));
  }

  #settingsChanged() {
    const moved = Object.keys(this.#parameters.values).length;
    setText(byId("advanced-note"), moved ? `${moved} changed` : "model defaults");
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
    if (format !== "wav") this.#stage.say(`Making the ${format} file`);
    try {
      await downloadClip(utterance, format);
      if (utterance === this.#speaker.utterance) this.#stage.say(this.#describe(this.#state));
    } catch (error) {
      this.#stage.showError(error.message);
    }
  }
}

new Studio().open();
