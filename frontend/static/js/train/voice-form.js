/**
 * Whose voice it is to be: name, language, and the consent. The button begins the training; what keeps it from that is
 * said at the field that it is about, otherwise above the button.
 *
 * Event "wanted".
 */
import { h, icon } from "../shared/page/dom.js";
import { showProblem, tellProblem } from "../shared/notices/problem-notice.js";
import { fleet } from "../shared/service/fleet.js";
import { LANGUAGES } from "../voices/making/voice-fields.js";
import { language, setMessage } from "./words.js";

const FIELDS = { name: "name", language: "language", consent_by: "consent_by", consent_statement: "consent" };

export class VoiceForm extends EventTarget {
  #inputs = {
    name: h("input", { id: "train-name", type: "text", dir: "auto", maxlength: 80, autocomplete: "off", required: true }),
    language: h("input", { id: "train-language", type: "text", maxlength: 16, list: "train-languages", autocomplete: "off" }),
    consent: h("input", { id: "train-consent", type: "checkbox", "aria-describedby": "train-statement" }),
    consent_by: h("input", { id: "train-consent-by", type: "text", dir: "auto", maxlength: 160, autocomplete: "name", required: true }),
  };
  #statement = h("p", { class: "consent-statement", id: "train-statement" });
  #title = h("h2", { id: "train-form-title", "data-i18n": "train.voice" });
  #about = h("p", { class: "quiet", "data-i18n": "train.startAbout" });
  #problem = h("div", { class: "notice notice-danger", id: "train-problem", role: "alert", hidden: true });
  #words = h("span", { "data-i18n": "train.start" });
  #back = h("button", { class: "button", type: "button", hidden: true, "data-i18n": "train.anotherVoice" });
  #fields;
  /** The training that is to have more recordings; null: a new voice. */
  #training = null;
  #asked = 0;
  #start = h("button", { class: "button button-primary", type: "submit", id: "train-start" }, icon("spark"), this.#words);

  constructor() {
    super();
    const { name, language: code, consent, consent_by: by } = this.#inputs;
    code.value = language();
    this.#fields = h(
      "div",
      { class: "train-fields" },
      h("datalist", { id: "train-languages" }, LANGUAGES.map((each) => h("option", { value: each }))),
      h("div", { class: "field-pair" }, stacked("voice.name", name), stacked("voice.language", code)),
      h(
        "fieldset",
        { class: "consent" },
        h("legend", { "data-i18n": "voice.consent" }),
        this.#statement,
        h("label", { class: "check" }, consent, h("span", { "data-i18n": "voice.agree" })),
        stacked("voice.consentBy", by),
      ),
    );
    this.element = h(
      "form",
      { class: "train-form", novalidate: true, "aria-labelledby": "train-form-title" },
      this.#title,
      this.#fields,
      this.#about,
      this.#problem,
      this.#start,
      this.#back,
    );
    this.#back.addEventListener("click", () => this.reset());
    this.#fields.addEventListener("input", () => this.calm());
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.dispatchEvent(new Event("wanted"));
    });
    window.addEventListener("languageset", () => this.loadStatement());
    this.#agreeTo("");
  }

  /** Other words have to be agreed to anew. */
  async loadStatement() {
    const asked = (this.#asked += 1);
    const statement = await fleet.trainings.consentStatement(language()).catch(() => "");
    if (asked === this.#asked) this.#agreeTo(statement);
  }

  /** Whether there are words to agree to. */
  get hasStatement() {
    return this.#statement.textContent !== "";
  }

  /** For more recordings of a training that is there, instead of a new voice. @param {{id: string, name: string}} training */
  addTo(training) {
    this.calm();
    this.#training = training;
    this.#fields.hidden = true;
    this.#back.hidden = false;
    setMessage(this.#title, "train.addTo", { name: training.name });
    this.#title.scrollIntoView({ block: "nearest" });
  }

  /** The body of a new training, or {id} of one that is to have more recordings. */
  get order() {
    if (this.#training) return { id: this.#training.id };
    const text = (field) => this.#inputs[field].value.trim();
    const code = text("language");
    return { name: text("name"), ...(code ? { language: code } : {}), consent_by: text("consent_by"), consent_statement: this.#statement.textContent };
  }

  /** What is missing, as a parameter of the API; null when nothing is. */
  get missing() {
    const { name, consent, consent_by: by } = this.#inputs;
    if (this.#training) return null;
    if (!name.value.trim()) return "name";
    if (!consent.checked) return "consent_statement";
    return by.value.trim() ? null : "consent_by";
  }

  /**
   * Says what keeps the training from beginning, and goes to the field that it is about.
   * @param {{message: string, code?: string, param?: string}} error
   * @param {() => void} [again] for what nothing has to be changed for
   */
  fail(error, again) {
    this.calm();
    const input = this.#training ? null : this.#inputs[FIELDS[error.param]];
    const label = input?.closest("label");
    (label?.closest(".field-pair") ?? label ?? this.#about).after(this.#problem);
    if (again && !input) showProblem(this.#problem, error, { again });
    else tellProblem(this.#problem, error);
    input?.setAttribute("aria-invalid", "true");
    input?.focus();
    this.#problem.scrollIntoView({ block: "nearest" });
  }

  /** Says above the button what keeps the training from beginning. */
  tell(key, values) {
    this.#about.after(this.#problem);
    this.#problem.replaceChildren(icon("warning"), setMessage(h("p"), key, values));
    this.#problem.hidden = false;
  }

  /** Something was changed: what was said about it holds no more. */
  calm() {
    this.#problem.hidden = true;
    for (const input of Object.values(this.#inputs)) input.removeAttribute("aria-invalid");
  }

  /** While recordings are sent. @param {{sent: number, count: number} | null} progress */
  show(progress) {
    this.#start.disabled = progress !== null;
    setMessage(this.#words, progress ? "train.sending" : "train.start", progress ?? {});
  }

  /** The next voice is another one. */
  reset() {
    this.calm();
    this.#training = null;
    this.#fields.hidden = false;
    this.#back.hidden = true;
    setMessage(this.#title, "train.voice");
    this.#inputs.name.value = "";
    this.#inputs.consent.checked = false;
  }

  #agreeTo(statement) {
    if (this.#statement.textContent !== statement) this.#inputs.consent.checked = false;
    this.#statement.textContent = statement;
    this.#inputs.consent.disabled = statement === "";
  }
}

function stacked(key, input) {
  return h("label", { class: "stacked" }, h("span", { "data-i18n": key }), input);
}
