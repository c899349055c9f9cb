/**
 * A slider of something that a model has a value of its own for, which holds until it is moved, and again once it is reset.
 */
import { h } from "./dom.js";
import { decimal } from "../../i18n/format.js";
import { setLabel, setMessage, t } from "../../i18n/i18n.js";

export class Slider {
  #spec;
  #default;
  #moved = false;
  #input;
  #output;
  #reset;

  /**
   * @param {{name: string, min: number, max: number, step: number, digits: number, fallback: number, says: string}} spec
   *   `fallback`: where it stands while nobody knows the model's own; `says`: key of its name, and with ".hint" of what it does
   * @param {number | undefined} defaultValue the model's own, where that is known @param {() => void} onChange
   */
  constructor(spec, defaultValue, onChange) {
    this.#spec = spec;
    this.#default = defaultValue;
    const { name, min, max, step, says } = spec;
    this.#input = h("input", { id: name, type: "range", min, max, step, "aria-describedby": `${name}-hint` });
    this.#output = h("output", { for: name });
    this.#reset = h("button", { class: "link", type: "button", "data-i18n": "parameters.reset" });
    setLabel(this.#reset, "parameters.resetNamed", { name: () => t(says) });
    this.#input.addEventListener("input", () => this.#change(true, onChange));
    this.#reset.addEventListener("click", () => this.#change(false, onChange));
    this.element = h(
      "div",
      { class: "field" },
      h("div", { class: "field-head" }, h("label", { for: name, "data-i18n": says }), this.#reset, this.#output),
      this.#input,
      h("p", { class: "hint", id: `${name}-hint`, "data-i18n": `${says}.hint` }),
    );
    this.set(null);
  }

  get name() {
    return this.#spec.name;
  }

  get value() {
    return this.#moved ? Number(this.#input.value) : null;
  }

  set(value) {
    this.#moved = typeof value === "number";
    this.#input.value = this.#moved ? value : (this.#default ?? this.#spec.fallback);
    this.#show();
  }

  #change(moved, onChange) {
    if (moved) this.set(Number(this.#input.value));
    else this.set(null);
    onChange();
  }

  #show() {
    const { min, max, digits } = this.#spec;
    const number = Number(this.#input.value);
    const own = this.#default === undefined ? "parameters.own" : "parameters.default";
    setMessage(this.#output, this.#moved ? "text.plain" : own, {
      text: () => decimal(number, digits),
      value: () => decimal(number, digits),
    });
    this.#reset.hidden = !this.#moved;
    this.#input.style.setProperty("--fill", `${(100 * (number - min)) / (max - min)}%`);
  }
}
