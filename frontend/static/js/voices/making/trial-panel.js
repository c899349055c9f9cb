/**
 * Hearing a voice before there is one: a sentence spoken with the recording, beside the recording itself.
 *
 * Events: "wanted" (the reader wants to hear it: `ask` says with what), "failed" (detail: the error).
 */
import { h, icon, setIcon } from "../../shared/page/dom.js";
import { fleet } from "../../shared/service/fleet.js";
import { language, setMessage } from "../../i18n/i18n.js";
import { SoundTurn } from "../../shared/hearing/tabs.js";
import { loudness, matchedVolumes } from "./levels.js";
import { takeOfFile } from "../take/take-of-file.js";

const SOUNDS = ["recording", "clone"];

export class TrialPanel extends EventTarget {
  #audio = new Audio();
  #asked = null;
  #playing = null;
  /** By sound: its address and its volume. */
  #sounds = {};
  /** What the clone was made of; another one makes it untrue. */
  #made = null;
  #turn = new SoundTurn(() => this.silence());
  #words = h("span", {});
  #button = h("button", { class: "button", type: "button", id: "voice-try" }, icon("play"), this.#words);
  #hint = h("p", { class: "quiet", role: "status" });
  #players = Object.fromEntries(SOUNDS.map((sound) => [sound, this.#player(sound)]));
  #pair = h("div", { class: "trial-pair", role: "group", "data-i18n-label": "trial.title", hidden: true }, Object.values(this.#players));

  constructor() {
    super();
    this.element = h("section", { class: "trial", "data-state": "idle" }, this.#hint, this.#button, this.#pair);
    this.#button.addEventListener("click", () => (this.#asked ? this.reset() : this.dispatchEvent(new Event("wanted"))));
    for (const over of ["ended", "error"]) this.#audio.addEventListener(over, () => this.silence());
    this.#show("idle");
  }

  /**
   * Has the sentence spoken. @param {Blob} audio @param {object} voice the fields of a new one
   * @param {import("../take/take.js").Take | null} take of the recording, where this browser can play it
   */
  async ask(audio, voice, take) {
    this.reset();
    const asked = (this.#asked = new AbortController());
    this.#made = JSON.stringify(voice);
    this.#show("asking");
    try {
      const clone = await fleet.tryVoice({ audio, ...voice }, { sentenceLanguage: language(), signal: asked.signal });
      const spoken = await takeOfFile(clone);
      if (asked === this.#asked) this.#offer(clone, spoken, take);
    } catch (error) {
      if (asked !== this.#asked) return;
      this.reset();
      this.dispatchEvent(new CustomEvent("failed", { detail: error }));
    }
  }

  /** What the voice would be made of now: what was heard of another one is forgotten. @param {object} voice */
  keepFor(voice) {
    if (this.#made !== null && this.#made !== JSON.stringify(voice)) this.reset();
  }

  /** Ends what is asked for or heard, and forgets it. */
  reset() {
    this.#asked?.abort();
    this.#asked = this.#made = null;
    this.silence();
    for (const { url } of Object.values(this.#sounds)) URL.revokeObjectURL(url);
    this.#sounds = {};
    this.#show("idle");
  }

  silence() {
    this.#audio.pause();
    this.#turn.note(false);
    if (this.#playing) this.#name(this.#playing, "play");
    this.#playing = null;
  }

  #offer(clone, spoken, take) {
    this.#asked = null;
    const level = (one) => (one ? loudness(one.kept, one.sampleRate) : 0);
    const [recordingVolume, cloneVolume] = matchedVolumes(level(take), level(spoken));
    if (take) this.#sounds.recording = { url: URL.createObjectURL(take.wav()), volume: recordingVolume };
    this.#sounds.clone = { url: URL.createObjectURL(clone), volume: cloneVolume };
    this.#players.recording.hidden = take === null;
    this.#show("ready");
    this.#players.clone.focus();
  }

  #player(sound) {
    const words = h("span", { "data-i18n": `trial.${sound}` });
    const button = h("button", { class: "button", type: "button", id: `trial-${sound}`, "aria-pressed": "false" }, icon("play"), words);
    button.addEventListener("click", () => this.#toggle(sound));
    return button;
  }

  #toggle(sound) {
    const playing = this.#playing === sound;
    this.silence();
    if (playing) return;
    const { url, volume } = this.#sounds[sound];
    this.#playing = sound;
    this.#name(sound, "stop");
    this.#audio.src = url;
    this.#audio.volume = volume;
    this.#turn.note(true);
    this.#audio.play().catch((error) => error.name === "AbortError" || this.silence()); // another sound or a pause came first
  }

  #name(sound, action) {
    const button = this.#players[sound];
    setIcon(button, action);
    button.setAttribute("aria-pressed", String(action === "stop"));
  }

  #show(state) {
    this.element.dataset.state = state;
    this.#pair.hidden = state !== "ready";
    this.#button.hidden = state === "ready";
    setIcon(this.#button, state === "asking" ? "close" : "play");
    setMessage(this.#words, state === "asking" ? "dialog.cancel" : "trial.start");
    setMessage(this.#hint, `trial.${state}`);
    this.element.setAttribute("aria-busy", String(state === "asking"));
  }
}
