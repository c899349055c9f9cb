/**
 * The fields of a voice: name, language, tags, transcript, settings, and the consent of whose voice it is.
 */
import { h } from "../../shared/page/dom.js";
import { locale, setMessage } from "../../i18n/i18n.js";

export const LANGUAGES = ["en", "zh", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ja", "ko", "ar", "hi", "tr", "vi", "th", "id"];
/** The field that a parameter of the API belongs to. */
const FIELD_OF = { consent_statement: "consent" };

export class VoiceFields {
  #inputs = {
    name: h("input", { id: "voice-name", type: "text", dir: "auto", maxlength: 80, autocomplete: "off", required: true }),
    language: h("input", { id: "voice-lang", type: "text", maxlength: 16, list: "voice-languages", autocomplete: "off" }),
    tags: h("input", { id: "voice-tags", type: "text", dir: "auto", maxlength: 200, autocomplete: "off", "data-i18n-placeholder": "voice.tagsExample" }),
    description: h("input", { id: "voice-description", type: "text", dir: "auto", maxlength: 500, autocomplete: "off" }),
    transcript: h("textarea", { id: "voice-transcript", dir: "auto", class: "input", rows: 3, maxlength: 2000 }),
    consent_by: h("input", { id: "consent-by", type: "text", dir: "auto", maxlength: 160, autocomplete: "name" }),
    consent: h("input", { id: "consent", type: "checkbox" }),
    withdraw: h("input", { id: "consent-withdraw", type: "checkbox" }),
    denoise: h("input", { id: "voice-denoise", type: "checkbox" }),
    parameters: h("input", { id: "voice-parameters", type: "checkbox" }),
  };
  #statement = h("p", { class: "consent-statement", id: "consent-statement", dir: "auto" });
  #given = h("p", { class: "quiet" });
  #parameters = {};
  #suggested = "";
  /** What they were filled with. */
  #filled = {};

  constructor() {
    const { consent, consent_by: by, denoise, parameters } = this.#inputs;
    for (const input of Object.values(this.#inputs)) input.addEventListener("input", () => input.removeAttribute("aria-invalid"));
    this.#denoiseRow = h("label", { class: "check", hidden: true }, denoise, h("span", { "data-i18n": "voice.denoise" }));
    this.#parametersRow = h("label", { class: "check" }, parameters, h("span", { "data-i18n": "voice.parameters" }));
    this.#consentParts = [
      h("label", { class: "check" }, consent, h("span", { "data-i18n": "voice.agree" })),
      stacked("voice.consentBy", by),
    ];
    const withdraw = h("label", { class: "check" }, this.#inputs.withdraw, h("span", { "data-i18n": "voice.withdraw" }));
    this.#givenPart = h("div", { hidden: true }, this.#given, withdraw);
    consent.setAttribute("aria-describedby", "consent-statement");
    this.element = h(
      "div",
      { class: "voice-fields" },
      h("datalist", { id: "voice-languages" }, LANGUAGES.map((code) => h("option", { value: code }))),
      stacked("voice.name", this.#inputs.name),
      h("div", { class: "field-pair" }, stacked("voice.language", this.#inputs.language), stacked("voice.tags", this.#inputs.tags)),
      stacked("voice.description", this.#inputs.description),
      stacked("voice.transcript", this.#inputs.transcript, "voice.transcriptHint"),
      this.#denoiseRow,
      this.#parametersRow,
      h("fieldset", { class: "consent" }, h("legend", { "data-i18n": "voice.consent" }), this.#statement, this.#givenPart, this.#consentParts),
    );
  }

  #denoiseRow;
  #parametersRow;
  #consentParts;
  #givenPart;

  /**
   * @param {object} voice its fields; what it speaks with stays beside settings that are given to it
   * @param {object} [settings] of the page
   */
  fill({ name = "", language = "", tags = [], description = "", transcript = "", parameters: { adapter, model } = {} }, settings = {}) {
    const values = { name, language, tags: tags.join(", "), description, transcript };
    for (const [field, value] of Object.entries(values)) this.#inputs[field].value = value ?? "";
    for (const box of ["consent", "withdraw", "denoise", "parameters"]) this.#inputs[box].checked = false;
    this.#inputs.consent_by.value = "";
    this.#suggested = "";
    this.#parameters = { ...(adapter && { adapter }), ...(model && { model }), ...settings };
    this.#parametersRow.hidden = Object.keys(settings).length === 0;
    this.#filled = this.#told;
    this.point(null);
  }

  /** Whether noise can be taken out of the recording. @param {boolean} can */
  set denoises(can) {
    this.#denoiseRow.hidden = !can;
  }

  /** Whether it is; null where it cannot be. @returns {boolean | null} */
  get denoise() {
    return this.#denoiseRow.hidden ? null : this.#inputs.denoise.checked;
  }

  set denoise(wanted) {
    this.#inputs.denoise.checked = wanted;
  }

  /** @param {string} statement to agree to @param {{by: string, statement: string, at: string} | null} given the consent that is there */
  showConsent(statement, given) {
    this.setStatement(given?.statement ?? statement);
    this.#givenPart.hidden = !given;
    if (given) setMessage(this.#given, "voice.consentGiven", { by: given.by, at: () => new Date(given.at).toLocaleDateString(locale()) });
    for (const part of this.#consentParts) part.hidden = Boolean(given);
  }

  /** Whether somebody has agreed to the words that are shown. */
  get isAgreed() {
    return !this.#givenPart.hidden;
  }

  /** Other words have to be agreed to anew, and none before they are there. @param {string} statement */
  setStatement(statement) {
    if (this.#statement.textContent !== statement) this.#inputs.consent.checked = false;
    this.#statement.textContent = statement;
    this.#inputs.consent.disabled = statement === "";
  }

  /** While the voice is still being fetched, nothing can be written. @param {boolean} busy */
  set busy(busy) {
    this.element.setAttribute("aria-busy", String(busy));
    for (const input of Object.values(this.#inputs)) input.disabled = busy;
    if (!busy) this.setStatement(this.#statement.textContent);
  }

  /** Whether there is something in them that a new voice does not begin with. */
  get written() {
    const { denoise, parameters, consent, withdraw, transcript, ...texts } = this.#inputs;
    const written = Object.values(texts).some(({ value }) => value.trim() !== "");
    return written || consent.checked || transcript.value !== this.#suggested;
  }

  focus() {
    this.#inputs.name.focus();
  }

  /** What is missing of a consent, as a parameter of the API, and whether there is none at all. */
  get consentMissing() {
    const { consent, consent_by: by } = this.#inputs;
    const named = by.value.trim() !== "";
    if (consent.checked) return named ? null : "consent_by";
    return named ? "consent_statement" : "consent";
  }

  /** The words that were read become the transcript, until the reader writes another. */
  suggestTranscript(words) {
    const { transcript } = this.#inputs;
    if (transcript.value !== this.#suggested) return;
    transcript.value = this.#suggested = words;
  }

  get values() {
    const text = (field) => this.#inputs[field].value.trim();
    const agreed = this.#inputs.consent.checked;
    return {
      name: text("name"),
      language: text("language"),
      description: text("description"),
      transcript: text("transcript"),
      tags: text("tags").split(/[,，]/).map((tag) => tag.trim()).filter(Boolean),
      ...(this.#inputs.denoise.checked ? { denoise: true } : {}),
      ...(this.#inputs.parameters.checked ? { parameters: this.#parameters } : {}),
      ...(agreed ? { consent_by: text("consent_by"), consent_statement: this.#statement.textContent } : {}),
    };
  }

  /** What is heard of a voice: its words, its settings, and that its speaker agreed. */
  get forTrial() {
    const { name, tags, description, ...sounding } = this.values;
    return sounding;
  }

  get forCreation() {
    return this.values;
  }

  /** As PATCH wants it, what is empty being nothing: what was changed here. Another tab may have changed the rest. */
  get forChange() {
    const withdrawn = this.#inputs.withdraw.checked ? { consent_by: null, consent_statement: null } : {};
    const changed = Object.entries(this.#told).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(this.#filled[name]));
    const changes = { ...Object.fromEntries(changed), ...withdrawn };
    return Object.keys(changes).length > 0 ? changes : { name: this.values.name };
  }

  get #told() {
    const { language, transcript, ...values } = this.values;
    return { ...values, language: language || null, transcript: transcript || null };
  }

  /** Whether a parameter of the API is a field here. */
  holds(parameter) {
    return (FIELD_OF[parameter] ?? parameter) in this.#inputs;
  }

  /** Marks the field that is wrong, and goes to it. @param {string | null} parameter of the API */
  point(parameter) {
    for (const input of Object.values(this.#inputs)) input.removeAttribute("aria-invalid");
    if (!this.holds(parameter)) return;
    const input = this.#inputs[FIELD_OF[parameter] ?? parameter];
    input.setAttribute("aria-invalid", "true");
    input.focus();
  }
}

function stacked(key, input, hint = null) {
  const about = hint ? h("span", { class: "hint", "data-i18n": hint }) : null;
  return h("label", { class: "stacked" }, h("span", { "data-i18n": key }), input, about);
}
