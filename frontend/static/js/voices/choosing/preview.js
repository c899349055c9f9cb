/**
 * Hearing what voices sound like, one at a time.
 */
import { h, icon } from "../../shared/page/dom.js";
import { fleet } from "../../shared/service/fleet.js";
import { Hearing } from "../../shared/hearing/hearing.js";
import { setLabel } from "../../i18n/i18n.js";
import { voiceName } from "../voice-name.js";

export class Preview {
  #hearing = new Hearing((id) => fleet.voicePreview(id));

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
    return this.#hearing.attach(button, voice.id);
  }

  /** Voices that are there no more are not heard on. @param {{id: string}[]} voices */
  keep(voices) {
    this.#hearing.keep(voices.map(({ id }) => id));
  }
}
