/**
 * The voices as cards of one radio group: arrow keys move, the browser does the rest.
 *
 * Each card carries a small figure drawn from the voice's id, so that voices are told apart at a
 * glance without pictures.
 */
import { h, icon } from "../shared/dom.js";

const FIGURE_BARS = 7;
const SVG = "http://www.w3.org/2000/svg";

/** Bar heights in [0.25, 1], always the same for the same id (FNV-1a, one round per bar). */
export function voiceFigure(id) {
  let hash = 2166136261;
  const mix = (code) => (hash = Math.imul(hash ^ code, 16777619) >>> 0);
  for (const character of id) mix(character.codePointAt(0));
  return Array.from({ length: FIGURE_BARS }, (_, bar) => 0.25 + 0.75 * ((mix(bar + 1) >>> 8) % 1000) / 999);
}

export class VoicePicker extends EventTarget {
  #list;
  #voices = [];

  /** @param {HTMLElement} list the radiogroup element */
  constructor(list) {
    super();
    this.#list = list;
    list.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  /** Id of the chosen voice, "default" while there is none. */
  get value() {
    return this.#list.querySelector("input:checked")?.value ?? "default";
  }

  get voice() {
    return this.#voices.find(({ id }) => id === this.value) ?? null;
  }

  showLoading() {
    const skeletons = Array.from({ length: 4 }, () => h("div", { class: "voice-card skeleton" }));
    this.#list.replaceChildren(...skeletons);
    this.#list.setAttribute("aria-busy", "true");
  }

  /** @param {{id, name, language, description}[]} voices @param {string} [chosen] id, the first otherwise */
  show(voices, chosen) {
    this.#voices = voices;
    const id = voices.some((voice) => voice.id === chosen) ? chosen : voices[0]?.id;
    this.#list.removeAttribute("aria-busy");
    this.#list.replaceChildren(...voices.map((voice) => card(voice, voice.id === id)));
    if (voices.length === 0) this.#list.append(h("p", { class: "quiet" }, "This model speaks with its own voice."));
  }

  /** @param {string} message @param {() => void} onRetry */
  showError(message, onRetry) {
    this.#list.removeAttribute("aria-busy");
    this.#list.replaceChildren(
      h("div", { class: "notice notice-danger", role: "alert" }, icon("warning"), h("p", {}, message)),
      h("button", { class: "button", type: "button", onclick: onRetry }, "Try again"),
    );
  }
}

function card({ id, name, language, description }, checked) {
  return h(
    "label",
    { class: "voice-card" },
    h("input", { type: "radio", name: "voice", value: id, checked }),
    figure(id),
    h(
      "span",
      { class: "voice-words" },
      h("span", { class: "voice-name" }, name || id),
      h("span", { class: "voice-about" }, [language, description].filter(Boolean).join(" · ")),
    ),
    h("span", { class: "voice-tick", "aria-hidden": "true" }, icon("check")),
  );
}

function figure(id) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "voice-figure");
  svg.setAttribute("viewBox", `0 0 ${FIGURE_BARS * 4 + 2} 24`);
  svg.setAttribute("aria-hidden", "true");
  voiceFigure(id).forEach((height, bar) => {
    const rect = document.createElementNS(SVG, "rect");
    const attributes = { x: 2 + bar * 4, y: 12 - height * 10, width: 2, height: height * 20, rx: 1 };
    for (const [key, value] of Object.entries(attributes)) rect.setAttribute(key, value);
    svg.append(rect);
  });
  return svg;
}
