/**
 * The advanced drawer: generation parameters that stay the model's own until they are moved.
 *
 * A parameter that was not moved is not sent, so the server's defaults (also later ones) hold.
 * Without a seed the page draws one per generation, so that the same audio can be asked for again
 * in another format.
 */
import { h, icon, setText } from "../shared/dom.js";

export const SEED_LIMIT = 2 ** 31;

/** Sliders: name in the request, label, hint, range, and where the page config tells the default. */
const SLIDERS = [
  {
    name: "cfg_value",
    label: "Guidance",
    hint: "Higher follows the text and the voice more closely, lower is freer.",
    min: 1,
    max: 5,
    step: 0.1,
    digits: 1,
    configKey: "default_cfg_value",
    fallback: 2,
  },
  {
    name: "inference_timesteps",
    label: "Timesteps",
    hint: "Flow-matching steps per patch: more is finer and slower.",
    min: 1,
    max: 50,
    step: 1,
    digits: 0,
    configKey: "default_inference_timesteps",
    fallback: 10,
  },
  {
    name: "temperature",
    label: "Temperature",
    hint: "Scale of the starting noise: 0 is flat, above 1 is lively.",
    min: 0,
    max: 2,
    step: 0.05,
    digits: 2,
    configKey: "default_temperature",
    fallback: 1,
  },
];

export function drawSeed(random = Math.random) {
  return Math.floor(random() * SEED_LIMIT);
}

export class Parameters extends EventTarget {
  #sliders;
  #seed = h("input", {
    id: "seed", type: "number", min: 0, max: SEED_LIMIT - 1, step: 1, placeholder: "a new one each time",
    inputmode: "numeric", "aria-describedby": "seed-hint",
  });

  /** @param {HTMLElement} container @param {object} config of GET /api/config @param {object} saved values */
  constructor(container, config, saved = {}) {
    super();
    this.#sliders = SLIDERS.map((spec) => new Slider(spec, config[spec.configKey] ?? spec.fallback, () => this.#changed()));
    this.#seed.value = saved.seed ?? "";
    this.#seed.addEventListener("input", () => this.#changed());
    for (const slider of this.#sliders) slider.set(saved[slider.name]);
    container.replaceChildren(this.#seedField(), ...this.#sliders.map((slider) => slider.element));
  }

  /** What the reader has set, and nothing else: {seed?, cfg_value?, ...}. */
  get values() {
    const set = this.#sliders.filter((slider) => slider.value !== null);
    const values = Object.fromEntries(set.map((slider) => [slider.name, slider.value]));
    const seed = this.#seed.value === "" ? NaN : Number(this.#seed.value);
    if (Number.isInteger(seed) && seed >= 0 && seed < SEED_LIMIT) values.seed = seed;
    return values;
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }

  #seedField() {
    const roll = () => {
      this.#seed.value = drawSeed();
      this.#changed();
    };
    return h(
      "div",
      { class: "field" },
      h("label", { for: "seed" }, "Seed"),
      h(
        "div",
        { class: "field-row" },
        this.#seed,
        h("button", { class: "button-icon", type: "button", "aria-label": "Draw a seed", title: "Draw a seed", onclick: roll }, icon("dice")),
      ),
      h("p", { class: "hint", id: "seed-hint" }, "The same seed and text give the same audio."),
    );
  }
}

class Slider {
  #spec;
  #default;
  #moved = false;
  #input;
  #output;
  #reset;

  constructor(spec, defaultValue, onChange) {
    this.#spec = spec;
    this.#default = defaultValue;
    const { name, label, hint, min, max, step } = spec;
    this.#input = h("input", { id: name, type: "range", min, max, step, "aria-describedby": `${name}-hint` });
    this.#output = h("output", { for: name });
    this.#reset = h("button", { class: "link", type: "button", "aria-label": `Reset ${label}` }, "reset");
    this.#input.addEventListener("input", () => this.#change(true, onChange));
    this.#reset.addEventListener("click", () => this.#change(false, onChange));
    this.element = h(
      "div",
      { class: "field" },
      h("div", { class: "field-head" }, h("label", { for: name }, label), this.#reset, this.#output),
      this.#input,
      h("p", { class: "hint", id: `${name}-hint` }, hint),
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
    this.#input.value = this.#moved ? value : this.#default;
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
    setText(this.#output, this.#moved ? number.toFixed(digits) : `default · ${number.toFixed(digits)}`);
    this.#reset.hidden = !this.#moved;
    this.#input.style.setProperty("--fill", `${(100 * (number - min)) / (max - min)}%`);
  }
}
