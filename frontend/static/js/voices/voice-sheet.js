/**
 * The sheet in which a voice is made or changed: sound, name, what it is, and the consent.
 *
 * Events: "made" and "changed" (detail: the voice), "deleted" (detail: the voice that is gone).
 */
import { h, icon } from "../shared/dom.js";
import { fleet } from "../shared/fleet.js";
import { setMessage, t } from "../shared/i18n.js";
import { problemText } from "../shared/problems.js";
import "./messages.js";
import { checkList } from "./check-list.js";
import { SourcePanel } from "./source-panel.js";
import { VoiceFields } from "./voice-fields.js";

export class VoiceSheet extends EventTarget {
  #source = new SourcePanel();
  #fields = new VoiceFields();
  #title = h("h2", { id: "voice-sheet-title" });
  #problem = h("div", { class: "notice notice-danger", role: "alert", hidden: true });
  #save = h("button", { class: "button button-primary", id: "voice-save" });
  #delete = h("button", { class: "button button-quiet", type: "button", id: "voice-delete", "data-i18n": "voice.delete" });
  #result = h("div", { class: "voice-result", hidden: true });
  #form;
  #dialog;
  /** The voice that is changed; null while one is made. */
  #voice = null;

  constructor() {
    super();
    const cancel = h("button", { class: "button", type: "button", "data-i18n": "dialog.cancel" });
    cancel.addEventListener("click", () => this.#dialog.close());
    this.#form = h(
      "form",
      { method: "dialog", novalidate: true },
      h("div", { class: "voice-columns" }, this.#source.element, this.#fields.element),
      this.#problem,
      h("div", { class: "sheet-foot" }, this.#delete, cancel, this.#save),
    );
    this.#form.addEventListener("submit", (event) => this.#submit(event));
    this.#delete.addEventListener("click", () => this.#remove());
    this.#source.addEventListener("change", () => this.#fields.suggestTranscript(this.#source.words));
    const attributes = { class: "sheet voice-sheet", id: "voice-sheet", "aria-labelledby": "voice-sheet-title" };
    this.#dialog = h("dialog", attributes, this.#title, this.#form, this.#result);
    this.#dialog.addEventListener("close", () => this.#source.reset());
    document.body.append(this.#dialog);
  }

  /** For a new voice. @param {object} parameters what the page's sliders say, to be the voice's own if wanted */
  create(parameters) {
    this.#open(null);
    this.#fields.fill({ name: "", parameters });
    this.#source.loadStatement().then((statement) => this.#fields.showConsent(statement, null));
  }

  /** For a voice of the reader's. @param {{id: string}} voice @param {object} parameters of the page */
  async edit(voice, parameters) {
    this.#open(voice);
    this.#fields.fill({ ...voice, parameters });
    try {
      const [whole, statement] = await Promise.all([fleet.voice(voice.id), fleet.consentStatement()]);
      this.#fields.fill({ ...whole, parameters });
      this.#fields.showConsent(statement, whole.consent);
    } catch (error) {
      this.#fail(error);
    }
  }

  #open(voice) {
    this.#voice = voice;
    this.#source.element.hidden = voice !== null;
    this.#dialog.classList.toggle("narrow", voice !== null);
    setMessage(this.#title, voice ? "voice.edit" : "voices.new");
    setMessage(this.#save, voice ? "voice.save" : "voice.make");
    this.#delete.hidden = voice === null;
    setMessage(this.#delete, "voice.delete");
    this.#form.hidden = false;
    this.#result.hidden = this.#problem.hidden = true;
    this.#source.reset();
    this.#dialog.showModal();
    this.#title.scrollIntoView();
  }

  async #submit(event) {
    event.preventDefault();
    this.#problem.hidden = true;
    const audio = this.#voice ? null : this.#source.source();
    if (!this.#voice && !audio) return this.#fail({ param: "audio", message: t("voice.noAudio") });
    if (!this.#fields.values.name) return this.#fail({ param: "name", message: t("voice.noName") });
    this.#save.disabled = true;
    try {
      if (this.#voice) await this.#change();
      else await this.#make(audio);
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#save.disabled = false;
    }
  }

  async #make(audio) {
    const { checks = [], ...voice } = await fleet.createVoice({ audio, ...this.#fields.forCreation });
    this.dispatchEvent(new CustomEvent("made", { detail: voice }));
    if (checks.length === 0) this.#dialog.close();
    else this.#showChecks(voice, checks);
  }

  async #change() {
    const voice = await fleet.updateVoice(this.#voice.id, this.#fields.forChange);
    this.#dialog.close();
    this.dispatchEvent(new CustomEvent("changed", { detail: voice }));
  }

  /** The first press asks, the second one means it. */
  async #remove() {
    if (this.#delete.dataset.i18n !== "voice.deleteSure") {
      setMessage(this.#delete, "voice.deleteSure");
      return;
    }
    try {
      await fleet.deleteVoice(this.#voice.id);
      this.#dialog.close();
      this.dispatchEvent(new CustomEvent("deleted", { detail: this.#voice }));
    } catch (error) {
      this.#fail(error);
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
    const done = h("button", { class: "button button-primary", type: "button", "data-i18n": "voice.useIt" });
    done.addEventListener("click", () => this.#dialog.close());
    this.#form.hidden = true;
    this.#result.hidden = false;
    const said = setMessage(h("p", {}), voice.usable === false ? "voice.madeMute" : "voice.made", { name: voice.name });
    this.#dialog.classList.add("narrow");
    this.#result.replaceChildren(said, checkList(checks), h("div", { class: "sheet-foot" }, again, done));
    done.focus();
  }

  #fail(error) {
    const words = setMessage(h("p", {}), "text.plain", { text: () => problemText(error) });
    this.#problem.replaceChildren(icon("warning"), words);
    this.#problem.hidden = false;
    this.#fields.point(error.param);
    if (!this.#fields.holds(error.param)) this.#problem.scrollIntoView({ block: "nearest" });
  }
}
