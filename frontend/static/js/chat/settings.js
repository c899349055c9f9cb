/**
 * How answers are asked for: the model, what it is told first, and how it writes.
 *
 * What was not set is not sent, so the model's own values hold. Event: "change".
 */
import { h } from "../shared/page/dom.js";
import { Slider } from "../shared/page/slider.js";
import { setMessage } from "./words.js";

const TEMPERATURE = { name: "temperature", min: 0, max: 2, step: 0.05, digits: 2, fallback: 0.7, says: "chat.temperature" };
const MOST_TOKENS = { id: "max-tokens", type: "number", min: 1, step: 1, inputmode: "numeric", "data-i18n-placeholder": "chat.tokensAny", "aria-describedby": "max-tokens-hint" };

export class Settings extends EventTarget {
  #elements;
  #config = {};
  #tokens = h("input", MOST_TOKENS);
  #temperature = new Slider(TEMPERATURE, undefined, () => this.#changed());
  /** What was chosen, and may be there again tomorrow. */
  #model;

  /**
   * @param {Record<"model" | "modelField" | "system" | "thinking" | "thinkingField" | "parameters", HTMLElement>} elements
   * @param {object} saved as `kept` gave it
   */
  constructor(elements, { model = "", system = "", thinking = true, temperature, max_tokens: tokens = "" } = {}) {
    super();
    this.#elements = elements;
    this.#model = model;
    elements.system.value = system;
    elements.thinking.checked = thinking;
    this.#tokens.value = tokens;
    this.#temperature.set(temperature);
    elements.parameters.append(this.#temperature.element, tokensField(this.#tokens));
    for (const input of [elements.system, this.#tokens]) input.addEventListener("input", () => this.#changed());
    elements.thinking.addEventListener("change", () => this.#changed());
    elements.model.addEventListener("change", () => {
      this.#model = elements.model.value;
      this.#changed();
    });
  }

  /** What a gateway serves. @param {{text_models?: string[], thinking_models?: string[]}} config */
  offer(config) {
    this.#config = config;
    const { model, modelField } = this.#elements;
    const names = this.#names;
    const any = setMessage(h("option", { value: "" }), "model.any");
    model.replaceChildren(any, ...names.map((name) => h("option", { value: name }, name)));
    model.value = names.includes(this.#model) ? this.#model : "";
    modelField.hidden = names.length < 2;
    this.#changed();
  }

  /** Of a conversation: {system, model?, temperature?, max_tokens?, enable_thinking?}. */
  get values() {
    const { system, model, thinking } = this.#elements;
    const values = { system: system.value };
    if (model.value) values.model = model.value;
    if (this.#temperature.value !== null) values.temperature = this.#temperature.value;
    const tokens = Number(this.#tokens.value);
    if (Number.isInteger(tokens) && tokens > 0) values.max_tokens = tokens;
    if (this.#thinks) values.enable_thinking = thinking.checked;
    return values;
  }

  /** How many are not as the model has them. */
  get moved() {
    return ["temperature", "max_tokens"].filter((name) => name in this.values).length;
  }

  get kept() {
    const { system, thinking } = this.#elements;
    const { temperature, max_tokens } = this.values;
    return { model: this.#model, system: system.value, thinking: thinking.checked, temperature, max_tokens };
  }

  /** Whether the model that will answer can be told to think. Of several any may. */
  get #thinks() {
    const model = this.#elements.model.value;
    const thinking = this.#config.thinking_models ?? [];
    return model ? thinking.includes(model) : this.#names.length > 0 && this.#names.every((name) => thinking.includes(name));
  }

  get #names() {
    return this.#config.text_models ?? [];
  }

  #changed() {
    this.#elements.thinkingField.hidden = !this.#thinks;
    this.dispatchEvent(new Event("change"));
  }
}

function tokensField(input) {
  return h(
    "div",
    { class: "field" },
    h("div", { class: "field-head" }, h("label", { for: "max-tokens", "data-i18n": "chat.maxTokens" })),
    h("div", { class: "field-row" }, input),
    h("p", { class: "hint", id: "max-tokens-hint", "data-i18n": "chat.maxTokens.hint" }),
  );
}
