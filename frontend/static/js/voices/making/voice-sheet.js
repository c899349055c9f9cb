/**
 * The sheet in which a voice is made or changed: sound, name, what it is, and the consent.
 *
 * Leaving it loses nothing: what was recorded and written of a new voice is there when it is opened again.
 *
 * Events: "made" and "changed" (detail: the voice), "deleted" (detail: the voice that is gone), "missed" (the voice was
 * gone before), "kept" (a recording is, until the sheet is opened again).
 */
import { h } from "../../shared/page/dom.js";
import { fleet } from "../../shared/service/fleet.js";
import { language, setMessage } from "../../i18n/i18n.js";
import { tellProblem } from "../../shared/notices/problem-notice.js";
import { lackOf } from "../lack.js";
import "../messages.js";
import { checkList } from "../take/check-list.js";
import { SourcePanel } from "../take/source-panel.js";
import { TrialPanel } from "./trial-panel.js";
import { VoiceFields } from "./voice-fields.js";

export class VoiceSheet extends EventTarget {
  #source = new SourcePanel();
  #fields = new VoiceFields();
  #trial = new TrialPanel();
  #title = h("h2", { id: "voice-sheet-title", tabindex: -1, autofocus: true });
  #training = h(
    "p",
    { class: "quiet voice-training", hidden: true },
    h("span", { "data-i18n": "voice.trainWhy" }),
    " ",
    h("a", { href: "/train", "data-i18n": "voice.train" }),
  );
  #problem = h("div", { class: "notice notice-danger", role: "alert", hidden: true });
  #save = h("button", { class: "button button-primary", id: "voice-save" });
  #delete = h("button", { class: "button button-quiet", type: "button", id: "voice-delete", "data-i18n": "voice.delete" });
  #result = h("div", { class: "voice-result", hidden: true });
  #form;
  #dialog;
  /** The voice that is changed; null while one is made. */
  #voice = null;
  /** Whether what was begun of a new voice is to be there again. */
  #draft = false;
  /** Which opening this is: what is answered after the sheet was left changes nothing of the next one. */
  #opening = 0;
  /** Whether the voice is not there any more. */
  #missed = false;
  /** Whether the reader knows that a voice without consent is of no use. */
  #warned = false;

  constructor() {
    super();
    const cancel = h("button", { class: "button", type: "button", "data-i18n": "dialog.cancel" });
    cancel.addEventListener("click", () => this.#dialog.close());
    this.#form = h(
      "form",
      { method: "dialog", novalidate: true },
      h("div", { class: "voice-columns" }, this.#source.element, this.#fields.element, this.#trial.element),
      this.#problem,
      h("div", { class: "sheet-foot" }, this.#delete, cancel, this.#save),
    );
    this.#form.addEventListener("submit", (event) => this.#submit(event));
    this.#delete.addEventListener("click", () => this.#remove());
    this.#source.addEventListener("change", () => {
      this.#fields.suggestTranscript(this.#source.words);
      this.#trial.reset();
    });
    this.#source.element.addEventListener("denoise", () => {
      this.#fields.denoise = true;
      this.#fieldsChanged();
    });
    this.#trial.addEventListener("wanted", () => this.#try());
    this.#trial.addEventListener("failed", ({ detail }) => this.#fail(detail));
    const attributes = { class: "sheet voice-sheet", id: "voice-sheet", "aria-labelledby": "voice-sheet-title" };
    this.#dialog = h("dialog", attributes, this.#title, this.#training, this.#form, this.#result);
    this.#form.addEventListener("input", (event) => this.#changed(event));
    this.#dialog.addEventListener("close", () => this.#left());
    window.addEventListener("languageset", () => this.#dialog.open && this.#renewStatement());
    document.body.append(this.#dialog);
  }

  /** Whether voices are trained here, too. */
  trains = false;
  /** Whether noise can be taken out of recordings. */
  denoises = false;

  /** For a new voice. @param {object} parameters what the page's sliders say, to be the voice's own if wanted */
  create(parameters) {
    if (!this.#draft) {
      this.#source.reset();
      this.#fields.fill({}, parameters);
    }
    this.#open(null);
    this.#fields.busy = false;
    this.#source.loadStatement().then((statement) => this.#fields.showConsent(statement, null));
  }

  /**
   * For a voice of the reader's. @param {{id: string}} voice @param {object} parameters of the page
   * @param {{agree?: boolean}} [why] agree: to give the consent
   */
  async edit(voice, parameters, { agree = false } = {}) {
    this.#draft = false;
    this.#source.reset();
    this.#open(voice);
    this.#fields.fill(voice, parameters);
    this.#wait(true);
    try {
      const [whole, statement] = await Promise.all([fleet.voice(voice.id), fleet.consentStatement(language())]);
      if (voice !== this.#voice) return;
      this.#fields.fill(whole, parameters);
      this.#fields.showConsent(statement, whole.consent);
      this.#wait(false);
      this.#fields.point(agree ? "consent_statement" : null);
      if (!agree) this.#fields.focus();
    } catch (error) {
      if (voice === this.#voice) this.#fail(error);
    }
  }

  /** Nothing is written before all that is known has come: it would be written over. */
  #wait(waiting) {
    this.#fields.busy = this.#save.disabled = this.#delete.disabled = waiting;
  }

  #open(voice) {
    this.#opening += 1;
    this.#voice = voice;
    this.#save.disabled = this.#delete.disabled = false;
    this.#source.element.hidden = this.#trial.element.hidden = voice !== null;
    this.#dialog.classList.toggle("narrow", voice !== null);
    this.#training.hidden = voice !== null || !this.trains;
    this.#fields.denoises = voice === null && this.denoises;
    this.#source.denoise = this.#fields.denoise;
    setMessage(this.#title, voice ? "voice.edit" : "voices.new");
    setMessage(this.#save, voice ? "voice.save" : "voice.make");
    this.#delete.hidden = voice === null;
    setMessage(this.#delete, "voice.delete");
    this.#form.hidden = false;
    this.#result.hidden = this.#problem.hidden = true;
    this.#warned = this.#missed = false;
    this.#dialog.showModal();
    this.#dialog.scrollTop = 0;
  }

  /** What was left unfinished: a new voice's recording is kept, and the microphone let go. */
  #left() {
    this.#opening += 1;
    this.#source.leave();
    this.#trial.reset();
    const recorded = this.#source.source() !== null;
    this.#draft = this.#voice === null && !this.#form.hidden && (recorded || this.#fields.written);
    if (this.#missed) this.dispatchEvent(new Event("missed"));
    if (!this.#draft) this.#source.reset();
    else if (recorded) this.dispatchEvent(new Event("kept"));
  }

  #changed({ target }) {
    this.#calm();
    if (this.#source.element.contains(target)) this.#trial.reset();
    else this.#fieldsChanged();
  }

  #fieldsChanged() {
    this.#source.denoise = this.#fields.denoise;
    this.#trial.keepFor(this.#fields.forTrial);
  }

  /** Has a sentence spoken with the recording; nobody's voice is used before somebody agrees. */
  #try() {
    this.#problem.hidden = true;
    const audio = this.#source.source();
    if (!audio) return this.#fail({ code: "missing_field", param: "audio", message: "audio" });
    const missing = this.#fields.consentMissing;
    if (missing === "consent") return this.#fail({ code: "voice_without_consent", param: "consent_statement", message: "" }, "trial.noConsent");
    if (missing) return this.#fail({ code: "missing_field", param: missing, message: missing });
    return this.#trial.ask(audio, this.#fields.forTrial, this.#source.take);
  }

  /** Something was changed: what was said about it holds no more. */
  #calm() {
    this.#problem.hidden = true;
    if (this.#voice || this.#fields.consentMissing === "consent") return;
    this.#warned = false;
    setMessage(this.#save, "voice.make");
  }

  async #renewStatement() {
    const statement = await this.#source.loadStatement();
    if (!this.#fields.isAgreed) this.#fields.setStatement(statement);
  }

  /** What has to be filled in first, as an error of the API; null when nothing has. */
  #missing(audio) {
    const missing = this.#fields.consentMissing;
    if (!this.#voice && !audio) return "audio";
    if (!this.#fields.values.name) return "name";
    return missing === "consent" ? null : missing;
  }

  async #submit(event) {
    event.preventDefault();
    this.#problem.hidden = true;
    const audio = this.#voice ? null : this.#source.source();
    const param = this.#missing(audio);
    if (param) return this.#fail({ code: "missing_field", param, message: param });
    if (!this.#voice && this.#fields.consentMissing && !this.#warned) return this.#warn();
    const opening = this.#opening;
    this.#save.disabled = true;
    try {
      if (this.#voice) await this.#change(opening);
      else await this.#make(audio, opening);
    } catch (error) {
      if (opening === this.#opening) this.#fail(error);
    } finally {
      if (opening === this.#opening) this.#save.disabled = false;
    }
  }

  /** A voice without consent is of no use: said before the upload, once. */
  #warn() {
    this.#warned = true;
    setMessage(this.#save, "voice.makeMute");
    this.#fail({ code: "voice_without_consent", param: "consent_statement", message: "" }, "voice.noConsent");
  }

  async #make(audio, opening) {
    const { checks = [], ...voice } = await fleet.createVoice({ audio, ...this.#fields.forCreation });
    if (opening === this.#opening) this.#form.hidden = true;
    else if (!this.#dialog.open) this.#drop();
    this.dispatchEvent(new CustomEvent("made", { detail: voice }));
    if (opening !== this.#opening) return;
    if (checks.length === 0 && voice.usable !== false) this.#dialog.close();
    else this.#showChecks(voice, checks);
  }

  /** What was kept of a voice that is made. */
  #drop() {
    this.#draft = false;
    this.#source.reset();
  }

  async #change(opening) {
    const voice = await fleet.updateVoice(this.#voice.id, this.#fields.forChange);
    if (opening === this.#opening) this.#dialog.close();
    this.dispatchEvent(new CustomEvent("changed", { detail: voice }));
  }

  /** The first press asks, the second one means it. */
  async #remove() {
    if (this.#delete.dataset.i18n !== "voice.deleteSure") {
      setMessage(this.#delete, "voice.deleteSure");
      return;
    }
    const voice = this.#voice;
    const opening = this.#opening;
    try {
      await fleet.deleteVoice(voice.id);
      if (opening === this.#opening) this.#dialog.close();
      this.dispatchEvent(new CustomEvent("deleted", { detail: voice }));
    } catch (error) {
      if (opening === this.#opening) this.#fail(error);
    }
  }

  /** The voice is there; this is what would make it a better one. */
  #showChecks(voice, checks) {
    const again = h("button", { class: "button", type: "button", "data-i18n": "voice.again" });
    again.addEventListener("click", async () => {
      await fleet.deleteVoice(voice.id).catch(() => null); // it stays in the list then, to be deleted there
      this.dispatchEvent(new CustomEvent("deleted", { detail: voice }));
      this.#form.hidden = false;
      this.#result.hidden = true;
      this.#dialog.classList.remove("narrow");
      this.#source.reset();
    });
    const mute = lackOf(voice) === "consent";
    const done = h("button", { class: mute ? "button" : "button button-primary", type: "button", "data-i18n": "voice.useIt" });
    done.addEventListener("click", () => this.#dialog.close());
    const agree = h("button", { class: "button button-primary", type: "button", "data-i18n": "problem.consent" });
    agree.addEventListener("click", () => {
      this.#dialog.close();
      this.edit(voice, {}, { agree: true });
    });
    this.#result.hidden = false;
    const said = setMessage(h("p", {}), mute ? "voice.madeMute" : checks.length ? "voice.made" : "voices.ready", { name: voice.name });
    this.#dialog.classList.add("narrow");
    this.#result.replaceChildren(said, checkList(checks), h("div", { class: "sheet-foot" }, again, done, ...(mute ? [agree] : [])));
    (mute ? agree : done).focus();
  }

  /** @param {{code?: string, param?: string, message: string}} error @param {string} [key] of a message that says it better */
  #fail(error, key) {
    tellProblem(this.#problem, error, key);
    this.#missed = this.#voice !== null && error.code === "unknown_voice";
    this.#fields.point(error.param);
    if (!this.#fields.holds(error.param)) this.#problem.scrollIntoView({ block: "nearest" });
  }
}
