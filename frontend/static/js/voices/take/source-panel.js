/**
 * Where a new voice's sound comes from: the microphone, or a file that is dropped or chosen.
 *
 * Event "change"; its element gets "denoise" of a `TakeView`. `source()` is what to upload: a Blob, or null.
 */
import { Recorder } from "../../audio/recorder.js";
import { h, icon } from "../../shared/page/dom.js";
import { bytes } from "../../i18n/format.js";
import { problemText } from "../../shared/notices/problems.js";
import { fleet } from "../../shared/service/fleet.js";
import { language, setMessage } from "../../i18n/i18n.js";
import { PASSAGES } from "./passages.js";
import { RecordingPanel } from "./recording-panel.js";
import { takeOfFile } from "./take-of-file.js";
import { TakeView } from "./take-view.js";

const ACCEPTED = ".wav,.flac,.aif,.aiff,.mp3,.aac,.m4a,.ogg,.opus,.webm,audio/*";
/** Of a file that is too large, or of no kind that is read. */
const REFUSALS = [413, 415, 422];

export class SourcePanel extends EventTarget {
  #recording = new RecordingPanel();
  #file = null;
  /** What can be heard and trimmed of the file; null before it is decoded, and where it cannot be. */
  #fileTake = null;
  #fileView = new TakeView();
  #passage = h("blockquote", { class: "passage", id: "voice-passage" });
  #which = h("select", { id: "voice-read", "data-i18n-label": "record.read" });
  #input = h("input", { type: "file", id: "voice-file", class: "visually-hidden", accept: ACCEPTED });
  #chosen = h("p", { class: "drop-file", role: "status" });
  #statement = "";

  constructor() {
    super();
    for (const key of ["passage", "consent", "own"]) {
      this.#which.append(h("option", { value: key, "data-i18n": `record.read.${key}` }));
    }
    this.#which.addEventListener("change", () => this.#showPassage());
    window.addEventListener("languageset", () => this.#showPassage());
    this.#recording.addEventListener("change", () => {
      if (this.#recording.take) this.#setFile(null);
      this.dispatchEvent(new Event("change"));
    });
    this.#input.addEventListener("change", () => this.#setFile(this.#input.files[0] ?? null));
    this.element = h("div", { class: "source" }, this.#recordPart(), this.#dropZone());
    this.reset();
  }

  /** What to upload. @returns {Blob | null} */
  source() {
    if (this.#fileTake?.trimmed) return this.#fileTake.wav();
    return this.#file ?? this.#recording.take?.wav() ?? null;
  }

  /** The same to listen to; null where there is none, or this browser cannot play it. @returns {import("./take.js").Take | null} */
  get take() {
    return this.#file ? this.#fileTake : this.#recording.take;
  }

  /** The words that were read, where the reader had words to read. */
  get words() {
    return this.#file || !this.#recording.take || this.#which.value === "own" ? "" : this.#passage.textContent;
  }

  /** Whether noise is taken out of it; null: it cannot be. @param {boolean | null} denoise */
  set denoise(denoise) {
    this.#recording.denoise = this.#fileView.denoise = denoise;
  }

  /** Empties it, and lets the microphone go. */
  reset() {
    this.#recording.reset();
    this.#setFile(null);
    this.#showPassage();
  }

  /** Ends what is being recorded or heard, and keeps what there is. */
  leave() {
    this.#recording.leave();
    this.#fileView.silence();
  }

  async loadStatement() {
    this.#statement = await fleet.consentStatement(language()).catch(() => "");
    this.#showPassage();
    return this.#statement;
  }

  #recordPart() {
    if (!Recorder.available) return h("p", { class: "notice", "data-i18n": "record.insecure" });
    return h(
      "section",
      { class: "source-record" },
      h("label", { class: "read-choice" }, h("span", { "data-i18n": "record.read" }), this.#which),
      this.#passage,
      this.#recording.element,
    );
  }

  #dropZone() {
    const zone = h(
      "div",
      { class: "drop" },
      h("label", { class: "button", for: "voice-file" }, icon("upload"), h("span", { "data-i18n": "upload.choose" })),
      this.#input,
      h("span", { class: "quiet", "data-i18n": "upload.drop" }),
      this.#chosen,
      this.#fileView.element,
    );
    zone.addEventListener("dragover", (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
    zone.addEventListener("dragleave", () => zone.classList.remove("over"));
    zone.addEventListener("drop", (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      this.#setFile(event.dataTransfer.files[0] ?? null);
    });
    return zone;
  }

  #setFile(file) {
    this.#file = file;
    this.#fileTake = null;
    this.#fileView.show(null);
    if (file) this.#decode(file);
    if (file) this.#recording.reset();
    else this.#input.value = "";
    const text = file ? `${file.name} · ${bytes(file.size)}` : "";
    setMessage(this.#chosen, "text.plain", { text });
    this.dispatchEvent(new Event("change"));
  }

  async #decode(file) {
    const take = await takeOfFile(file).catch(() => null);
    if (file !== this.#file) return;
    this.#fileTake = take;
    this.#fileView.show(take);
    if (!take) await this.#askAbout(file);
  }

  /** What this browser cannot play, the service may read; if it does not, that is said now, and not when all is filled in. */
  async #askAbout(file) {
    const { name, size } = file;
    setMessage(this.#chosen, "upload.unheard", { name, size: () => bytes(size) });
    const problem = await fleet.checkRecording(file).then(() => null, (error) => error);
    if (file !== this.#file || !REFUSALS.includes(problem?.status)) return;
    setMessage(this.#chosen, "upload.refused", { name, size: () => bytes(size), reason: () => problemText(problem) });
  }

  #showPassage() {
    const which = this.#which.value || "passage";
    const text = { passage: PASSAGES[language()], consent: this.#statement, own: "" }[which];
    this.#passage.hidden = which === "own";
    this.#passage.textContent = text;
  }
}
