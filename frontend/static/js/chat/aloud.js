/**
 * Answers that are heard: whether they are, whose voice they have, and the sound of the one that comes.
 *
 * Events: "change" (of what was chosen), "sound" (it begins, has gaps, or is over), "failed" (detail: {code, message}).
 */
import { h, icon } from "../shared/page/dom.js";
import { fleet } from "../shared/service/fleet.js";
import { Hearing as Playing } from "../shared/hearing/hearing.js";
import { SoundTurn } from "../shared/hearing/tabs.js";
import { Hearing } from "../live/hearing.js";
import { problemText } from "../shared/notices/problems.js";
import { VoicePicker } from "../voices/choosing/voice-picker.js";
import { setLabel } from "./words.js";

/** Of pcm16, whatever the model's own rate is. */
const RATE = 24000;

export class Aloud extends EventTarget {
  #elements;
  #voices;
  #saved;
  #loaded = false;
  #hearing = new Hearing();
  #turn = new SoundTurn(() => this.hush());
  #again = new Playing(() => this.#hearing.wav());
  #begun = false;
  #sounding = false;
  #next = 0;
  /** The answer that is heard, or was. */
  #heard = null;

  /** @param {Record<"section" | "switch" | "voices", HTMLElement>} elements @param {{aloud?: boolean, voice?: string}} saved */
  constructor(elements, { aloud = false, voice } = {}) {
    super();
    this.#elements = elements;
    this.#saved = voice;
    this.#voices = new VoicePicker(elements.voices);
    elements.switch.checked = aloud;
    elements.switch.addEventListener("change", () => this.#changed());
    this.#voices.addEventListener("change", () => this.#changed());
    this.#hearing.addEventListener("report", ({ detail }) => {
      this.#turn.note(detail.state === "playing");
      if (detail.state === "ended") this.#sound(false);
    });
  }

  /** @param {{models?: object[]}} config @param {string} [chosen] voice */
  async offer({ models = [] }, chosen) {
    this.#elements.section.hidden = models.length === 0;
    this.#show();
    if (models.length === 0) return;
    if (!this.#voices.voice) this.#voices.showLoading();
    try {
      const voices = await fleet.voices();
      this.#voices.show(voices.filter(({ usable = true }) => usable), chosen ?? this.#voices.voice?.id ?? this.#saved);
      this.#loaded = true;
    } catch (error) {
      this.#voices.showError(problemText(error), () => this.offer({ models }));
    }
  }

  /** Whether answers are to be heard. */
  get wanted() {
    return !this.#elements.section.hidden && this.#elements.switch.checked;
  }

  get kept() {
    return { aloud: this.#elements.switch.checked, voice: this.#loaded ? this.#voices.value : this.#saved };
  }

  /** Whether it comes more slowly than it is heard. */
  get slow() {
    return this.#sounding && this.#hearing.slow;
  }

  /** Whether something is heard, or about to be. */
  get sounding() {
    return this.#sounding;
  }

  focus() {
    this.#voices.focus();
  }

  /** Opens the device. Call inside a click or key press. @returns {object} options of streamChat */
  prepare() {
    this.hush();
    this.#again.stop();
    this.#heard = null;
    if (!this.wanted) return {};
    this.#begun = false;
    this.#next = 0;
    this.#hearing.prepare(RATE).catch((error) => this.#failed(error));
    return { audio: { voice: this.#voices.value } };
  }

  /** @param {ArrayBuffer} pcm the next of the answer */
  take(pcm) {
    if (!this.#begun) {
      this.#begun = true;
      this.#hearing.begin(RATE).catch((error) => this.#failed(error));
      this.#sound(true);
    }
    const { slow } = this;
    this.#next = this.#hearing.receive(pcm, this.#next);
    if (slow !== this.slow) this.dispatchEvent(new Event("sound"));
  }

  /** All of an answer has come. @param {object} turn */
  end(turn) {
    if (!this.#begun) return;
    if (this.#hearing.keepsAll) this.#heard = turn;
    if (this.#sounding) this.#hearing.end();
  }

  /** Silence. */
  hush() {
    if (!this.#sounding) return;
    this.#hearing.stop();
    this.#sound(false);
  }

  /** A button to hear an answer again, if it is the one that was heard. @returns {HTMLElement[]} */
  buttons(turn) {
    if (turn !== this.#heard || this.#sounding) return [];
    const button = h("button", { class: "button-icon", type: "button" }, icon("play"));
    return [this.#again.attach(setLabel(button, "chat.hearAgain"), "answer")];
  }

  #failed({ message }) {
    this.hush();
    this.dispatchEvent(new CustomEvent("failed", { detail: { code: "no_device", message } }));
  }

  #sound(sounding) {
    if (sounding === this.#sounding) return;
    this.#sounding = sounding;
    this.#turn.note(sounding);
    this.dispatchEvent(new Event("sound"));
  }

  #changed() {
    this.#show();
    this.dispatchEvent(new Event("change"));
  }

  #show() {
    this.#elements.voices.parentElement.hidden = !this.#elements.switch.checked;
  }
}
