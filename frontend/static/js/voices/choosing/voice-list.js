/**
 * The list of voices, fetched for a picker: the answer to the last question is the one that is shown.
 */
import { fleet } from "../../shared/service/fleet.js";
import { openKeySheet } from "../../shared/service/key-sheet.js";
import { needsKey, problemText } from "../../shared/notices/problems.js";
import { isMade } from "../voice-name.js";

export class VoiceList {
  #picker;
  #saved;
  #first = true;
  /** Which of the voices are offered. @type {(voice: object) => boolean} */
  offered = () => true;
  /** The last question: which voice is to be chosen once the list is there. */
  #asked = null;

  /** @param {import("./voice-picker.js").VoicePicker} picker @param {string} [saved] id of the voice that was chosen last */
  constructor(picker, saved) {
    this.#picker = picker;
    this.#saved = saved;
  }

  /**
   * @param {string} [chosen] id; the chosen one stays otherwise
   * @returns {Promise<boolean>} whether the voice that was saved, or that a link names, was deleted: at the first time
   */
  async load(chosen = this.#asked?.chosen ?? this.#picker.voice?.id ?? this.#saved) {
    if (this.#picker.voices.length === 0) this.#picker.showLoading();
    const asked = (this.#asked = { chosen });
    const answer = await fleet.voices().catch((error) => error);
    if (asked !== this.#asked) return false;
    this.#asked = null;
    if (!(answer instanceof Error)) {
      this.#picker.show(answer.filter((voice) => this.offered(voice)), chosen);
      const lost = this.#first && isMade(chosen) && !answer.some(({ id }) => id === chosen);
      this.#first = false;
      return lost;
    }
    this.#picker.showError(problemText(answer), () => this.load());
    if (needsKey(answer)) openKeySheet(answer);
    return false;
  }
}
