/**
 * Which model speaks, where several are served: any of them, unless one is chosen.
 *
 * Event "change".
 */
import { h } from "../../shared/page/dom.js";
import "../messages.js";

export class ModelChoice extends EventTarget {
  #field;
  #select;
  #wanted;

  /** @param {HTMLElement} field hidden where there is no choice @param {HTMLSelectElement} select @param {string} [saved] */
  constructor(field, select, saved = "") {
    super();
    this.#field = field;
    this.#select = select;
    this.#wanted = saved;
    select.addEventListener("change", () => {
      this.#wanted = select.value;
      this.dispatchEvent(new Event("change"));
    });
  }

  /** @param {{models?: {model: string}[]}} config of GET /api/config */
  offer({ models = [] }) {
    const names = models.map(({ model }) => model);
    this.#select.replaceChildren(h("option", { value: "", "data-i18n": "model.any" }), ...names.map((name) => h("option", { value: name }, name)));
    this.#select.value = names.includes(this.#wanted) ? this.#wanted : "";
    this.#field.hidden = names.length < 2;
  }

  /** @param {string} [name] "" for any */
  choose(name = "") {
    this.#wanted = name;
    this.#select.value = [...this.#select.options].some(({ value }) => value === name) ? name : "";
  }

  /** What was chosen, also while it is not served. */
  get wanted() {
    return this.#wanted;
  }

  /** The name, or "" for any. */
  get value() {
    return this.#field.hidden ? "" : this.#select.value;
  }

  /** What it adds to a request. */
  get fields() {
    return this.value ? { model: this.value } : {};
  }

  /** What the page knows of the model that will speak. @param {object} config of GET /api/config */
  configOf(config) {
    return { ...config, ...config.models?.find(({ model }) => model === this.value) };
  }

  /** Whether a voice can be spoken by it. @param {{models?: string[] | null}} voice of GET /api/voices */
  speaks({ models }) {
    return !this.value || !models || models.includes(this.value);
  }
}
