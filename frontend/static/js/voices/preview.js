/**
 * Hearing what voices sound like, one at a time.
 */
import { h, icon, setIcon } from "../shared/dom.js";
import { fleet } from "../shared/fleet.js";
import { setLabel } from "../shared/i18n.js";
import { SoundTurn } from "../shared/tabs.js";
import { voiceName } from "./voice-name.js";

export class Preview {
  #audio = new Audio();
  #button = null;
  /** Of the voice that is heard; its button may be drawn anew meanwhile. */
  #id = null;
  #url = null;
  #asked = 0;
  #turn = new SoundTurn(() => this.#stop());

  constructor() {
    for (const over of ["ended", "error"]) this.#audio.addEventListener(over, () => this.#stop());
  }

  /**
   * A button that plays the voice and stops it again: the recording to whom it belongs, else a generated sentence.
   * @param {{id: string, name?: string, kind?: string, preview?: string}} voice
   */
  button(voice) {
    const button = h("button", { class: "button-icon voice-preview", type: "button" }, icon("play"));
    const name = voiceName(voice);
    setLabel(button, "voices.preview", { name });
    if (voice.kind === "custom") {
      setLabel(button, voice.preview === "recording" ? "voices.hearRecording" : "voices.hearSample", { name }, "title");
    }
    button.addEventListener("click", () => this.#toggle(button, voice.id));
    if (voice.id === this.#id) {
      this.#button = button;
      setIcon(button, "stop");
    }
    return button;
  }

  /** Voices that are there no more are not heard on. @param {{id: string}[]} voices */
  keep(voices) {
    if (this.#id !== null && !voices.some(({ id }) => id === this.#id)) this.#stop();
  }

  async #toggle(button, id) {
    const playing = id === this.#id;
    this.#stop();
    if (playing) return;
    const asked = (this.#asked += 1);
    this.#button = button;
    this.#id = id;
    setIcon(button, "stop");
    button.setAttribute("aria-busy", "true");
    try {
      const blob = await fleet.voicePreview(id);
      if (asked !== this.#asked) return;
      this.#url = URL.createObjectURL(blob);
      this.#audio.src = this.#url;
      await this.#audio.play();
      this.#turn.note(true);
    } catch {
      if (asked !== this.#asked) return;
      const shown = this.#button;
      this.#stop();
      setIcon(shown, "warning");
    } finally {
      button.removeAttribute("aria-busy");
    }
  }

  #stop() {
    this.#asked += 1;
    this.#turn.note(false);
    if (this.#button) setIcon(this.#button, "play");
    this.#button = this.#id = null;
    this.#audio.pause();
    if (!this.#url) return;
    this.#audio.removeAttribute("src"); // what is let go of is not asked for any more
    this.#audio.load();
    URL.revokeObjectURL(this.#url);
    this.#url = null;
  }
}
