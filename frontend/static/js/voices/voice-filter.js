/**
 * Search and language filter over the voices; hidden while there are few of them.
 */
import { h, icon } from "../shared/dom.js";

const FEW = 8;

/** Voices whose words hold every word of the search, in the language asked for. */
export function matching(voices, search, language = "") {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return voices.filter((voice) => {
    if (language && voice.language !== language) return false;
    const text = [voice.id, voice.name, voice.language, voice.description, ...(voice.tags ?? [])].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

export class VoiceFilter {
  #search = h("input", { type: "search", id: "voice-search", "data-i18n-placeholder": "voices.search", "data-i18n-label": "voices.search" });
  #language = h("select", { id: "voice-language", "data-i18n-label": "voices.language" });

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.element = h(
      "div",
      { class: "voice-filter", hidden: true },
      h("span", { class: "voice-search" }, icon("search"), this.#search),
      this.#language,
    );
    this.#search.addEventListener("input", onChange);
    this.#language.addEventListener("change", onChange);
  }

  /** Shows itself when there is enough to look through. */
  offer(voices) {
    const languages = [...new Set(voices.map((voice) => voice.language).filter(Boolean))].sort();
    const chosen = this.#language.value;
    const all = h("option", { value: "", "data-i18n": "voices.allLanguages" });
    this.#language.replaceChildren(all, ...languages.map((code) => h("option", { value: code }, code)));
    this.#language.value = languages.includes(chosen) ? chosen : "";
    this.#language.hidden = languages.length < 2;
    this.element.hidden = voices.length <= FEW;
    if (this.element.hidden) this.#search.value = this.#language.value = "";
  }

  /** The voices to show; the chosen one stays, so that it is never out of sight. */
  apply(voices, chosen) {
    const found = new Set(matching(voices, this.#search.value, this.#language.value));
    return voices.filter((voice) => found.has(voice) || (voice.id === chosen && found.size > 0));
  }
}
