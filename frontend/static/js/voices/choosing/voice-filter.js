/**
 * Search, language and style over the voices; hidden while there are few of them.
 */
import { h, icon } from "../../shared/page/dom.js";
import { finder } from "../../shared/page/search.js";
import { setMessage } from "../../i18n/i18n.js";
import { nameOf } from "../../i18n/languages.js";

const FEW = 5;

/** Voices whose words hold every word of the search, in the language asked for. */
export function matching(voices, search, language = "", style = "") {
  const found = finder(search);
  return voices.filter((voice) => {
    if (language && voice.language !== language) return false;
    if (style && !(voice.tags ?? []).includes(style)) return false;
    const tags = (voice.tags ?? []).map((tag) => `#${tag}`); // as the cards show them
    return found([voice.id, voice.name, voice.language, voice.description, ...tags].join(" "));
  });
}

export class VoiceFilter {
  #search = h("input", { type: "search", id: "voice-search", "data-i18n-placeholder": "voices.search", "data-i18n-label": "voices.search" });
  #language = h("select", { id: "voice-language", "data-i18n-label": "voices.language" });

  #style = h("select", { id: "voice-style", "data-i18n-label": "voices.style" });

  /** @param {() => void} onChange */
  constructor(onChange) {
    this.element = h(
      "div",
      { class: "voice-filter", hidden: true },
      h("span", { class: "voice-search" }, icon("search"), this.#search),
      this.#language,
      this.#style,
    );
    this.#search.addEventListener("input", onChange);
    for (const select of [this.#language, this.#style]) select.addEventListener("change", onChange);
  }

  /** Shows itself when there is enough to look through. */
  offer(voices) {
    const languages = [...new Set(voices.map((voice) => voice.language).filter(Boolean))].sort();
    const styles = [...new Set(voices.flatMap((voice) => voice.tags ?? []))].sort();
    fill(this.#language, "voices.allLanguages", languages, nameOf);
    fill(this.#style, "voices.allStyles", styles, (tag) => tag);
    this.element.hidden = voices.length <= FEW;
    if (this.element.hidden) this.#search.value = this.#language.value = this.#style.value = "";
  }

  /** The voices to show; the chosen one stays, so that it is never out of sight. */
  apply(voices, chosen) {
    const found = new Set(matching(voices, this.#search.value, this.#language.value, this.#style.value));
    return voices.filter((voice) => found.has(voice) || (voice.id === chosen && found.size > 0));
  }
}

/** Offers values to choose from, keeps the choice, and hides where there is none to make. */
function fill(select, all, values, name) {
  const chosen = select.value;
  const options = values.map((value) => setMessage(h("option", { value }), "text.plain", { text: () => name(value) }));
  select.replaceChildren(h("option", { value: "", "data-i18n": all }), ...options);
  select.value = values.includes(chosen) ? chosen : "";
  select.hidden = values.length < 2;
}
