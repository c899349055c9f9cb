/**
 * The advanced drawer: generation parameters that stay the model's own until they are moved.
 *
 * A parameter that was not moved is not sent, so the server's defaults (also later ones) hold.
 * Without a seed the page draws one per generation, so that the same audio can be asked for again
 * in another format.
 */
import { h, icon } from "../../shared/page/dom.js";
import { Slider } from "../../shared/page/slider.js";
import { MOST_INSTRUCTIONS } from "../share-link.js";

const SEED_LIMIT = 2 ** 31;

/** Sliders: name in the request, messages, range, and where the page config tells the default. */
const SLIDERS = [
  {
    name: "cfg_value",
    says: "parameters.cfg_value",
    min: 1,
    max: 5,
    step: 0.1,
    digits: 1,
    configKey: "default_cfg_value",
    fallback: 2,
  },
  {
    name: "inference_timesteps",
    says: "parameters.inference_timesteps",
    min: 2,
    max: 50,
    step: 1,
    digits: 0,
    configKey: "default_inference_timesteps",
    fallback: 10,
  },
  {
    name: "temperature",
    says: "parameters.temperature",
    min: 0,
    max: 2,
    step: 0.05,
    digits: 2,
    configKey: "default_temperature",
    fallback: 1,
  },
];

const DRAW = {
  class: "button-icon",
  type: "button",
  "data-i18n-label": "parameters.draw",
  "data-i18n-title": "parameters.draw",
};

export function drawSeed(random = Math.random) {
  return Math.floor(random() * SEED_LIMIT);
}

export class Parameters extends EventTarget {
  #sliders;
  #follows;
  #instructions = h("input", {
    id: "instructions", type: "text", dir: "auto", maxlength: MOST_INSTRUCTIONS, autocomplete: "off",
    "data-i18n-placeholder": "parameters.instructionsExample", "aria-describedby": "instructions-hint",
  });
  #seed = h("input", {
    id: "seed", type: "number", min: 0, max: SEED_LIMIT - 1, step: 1, "data-i18n-placeholder": "parameters.seedNew",
    inputmode: "numeric", "aria-describedby": "seed-hint",
  });

  /** @param {HTMLElement} container @param {object} config of GET /api/config @param {object} saved values */
  constructor(container, config, saved = {}) {
    super();
    this.#sliders = SLIDERS.map((spec) => new Slider(spec, config[spec.configKey] ?? spec.fallback, () => this.#changed()));
    this.#follows = config.features?.includes("instructions") ?? false;
    this.#instructions.value = saved.instructions ?? "";
    this.#seed.value = saved.seed ?? "";
    for (const input of [this.#instructions, this.#seed]) input.addEventListener("input", () => this.#changed());
    for (const slider of this.#sliders) slider.set(saved[slider.name]);
    const told = this.#follows ? [this.#instructionsField()] : [];
    container.replaceChildren(...told, this.#seedField(), ...this.#sliders.map((slider) => slider.element));
  }

  /** What the reader has set, and nothing else: {seed?, cfg_value?, ...}. */
  get values() {
    const set = this.#sliders.filter((slider) => slider.value !== null);
    const values = Object.fromEntries(set.map((slider) => [slider.name, slider.value]));
    const seed = this.#seed.value === "" ? NaN : Number(this.#seed.value);
    if (Number.isInteger(seed) && seed >= 0 && seed < SEED_LIMIT) values.seed = seed;
    return this.#follows ? { ...values, ...this.#told } : values;
  }

  /** The same with what another model would be told. */
  get kept() {
    return { ...this.values, ...this.#told };
  }

  get #told() {
    const instructions = this.#instructions.value.trim();
    return instructions ? { instructions } : {};
  }

  /** Sets what `values` holds, and everything else back to the model's own. */
  set(values) {
    this.#instructions.value = values.instructions ?? "";
    this.#seed.value = values.seed ?? "";
    for (const slider of this.#sliders) slider.set(values[slider.name]);
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }

  #instructionsField() {
    return h(
      "div",
      { class: "field field-whole" },
      h("label", { for: "instructions", "data-i18n": "parameters.instructions" }),
      this.#instructions,
      h("p", { class: "hint", id: "instructions-hint", "data-i18n": "parameters.instructionsHint" }),
    );
  }

  #seedField() {
    const roll = () => {
      this.#seed.value = drawSeed();
      this.#changed();
    };
    return h(
      "div",
      { class: "field" },
      h("label", { for: "seed", "data-i18n": "parameters.seed" }),
      h(
        "div",
        { class: "field-row" },
        this.#seed,
        h("button", { ...DRAW, onclick: roll }, icon("dice")),
      ),
      h("p", { class: "hint", id: "seed-hint", "data-i18n": "parameters.seedHint" }),
    );
  }
}
