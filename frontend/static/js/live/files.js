/**
 * What can be taken along of a session that is over: its audio, and when its words are said.
 *
 * Event "failed" (detail: the problem), where the service could not make a file.
 */
import { byId } from "../shared/page/dom.js";
import { save } from "../shared/files/save.js";
import { SUBTITLE_FORMATS } from "../shared/hearing/subtitles.js";
import { fleet } from "../shared/service/fleet.js";
import { setMessage } from "./words.js";

export class Files extends EventTarget {
  #element;
  #conversation;

  /** @param {HTMLElement} element that holds the buttons @param {import("./conversation.js").Conversation} conversation */
  constructor(element, conversation) {
    super();
    this.#element = element;
    this.#conversation = conversation;
    byId("download-wav").addEventListener("click", () => this.saveWav());
    byId("download-mp3").addEventListener("click", (event) => this.#saveMp3(event));
    for (const format of SUBTITLE_FORMATS) {
      byId(`download-${format}`).addEventListener("click", () => save(conversation.subtitles(format), `speech.${format}`));
    }
  }

  /** Offers what there is. */
  show() {
    const { busy, timesSource, hearing } = this.#conversation;
    this.#element.hidden = busy || (timesSource === null && !hearing.keepsAll);
    if (this.#element.hidden) return;
    for (const format of ["wav", "mp3"]) byId(`download-${format}`).hidden = !hearing.keepsAll;
    for (const format of SUBTITLE_FORMATS) byId(`download-${format}`).hidden = timesSource === null;
    setMessage(byId("words-source"), timesSource === null ? "live.files" : `words.${timesSource}`);
  }

  saveWav() {
    save(this.#conversation.hearing.wav(), "speech.wav");
  }

  /** What was heard, encoded by the service. */
  async #saveMp3({ currentTarget: button }) {
    button.disabled = true;
    try {
      save(await fleet.encode(this.#conversation.hearing.wav(), "mp3"), "speech.mp3");
    } catch (error) {
      this.dispatchEvent(new CustomEvent("failed", { detail: error }));
    } finally {
      button.disabled = false;
    }
  }
}
