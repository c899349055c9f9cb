/**
 * "The same as code": tabs for languages, arrow keys between them, and a copy button.
 */
import { copyButton } from "../shared/page/clipboard.js";
import { h, setText } from "../shared/page/dom.js";
import { apiKey } from "../shared/service/fleet.js";
import { setLabel } from "../i18n/i18n.js";
import { SNIPPETS } from "./snippets.js";

export class CodePanel {
  #tabs = [];
  #pre = h("pre", { id: "code-text", tabindex: "0", role: "tabpanel" });
  #chosen = "curl";
  #request = { text: "", format: "wav" };

  /** @param {HTMLElement} body */
  constructor(body) {
    const list = h("div", { class: "tabs", role: "tablist", "data-i18n-label": "code.tabs" });
    for (const name of Object.keys(SNIPPETS)) {
      const tab = h("button", { class: "tab", type: "button", role: "tab", "aria-controls": "code-text" }, name);
      tab.addEventListener("click", () => this.#choose(name));
      tab.addEventListener("keydown", (event) => this.#key(event));
      this.#tabs.push([name, tab]);
      list.append(tab);
    }
    body.append(h("div", { class: "code-head" }, list, copyButton(() => this.#pre.textContent, "code.copy")), this.#pre);
    window.addEventListener("apikey", () => this.show(this.#request));
    this.#choose("curl");
  }

  /** @param {object} request body of POST /tts */
  show(request) {
    this.#request = request;
    setText(this.#pre, SNIPPETS[this.#chosen](location.origin, request, { keyed: Boolean(apiKey()) }));
  }

  #choose(name) {
    this.#chosen = name;
    for (const [each, tab] of this.#tabs) {
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
    }
    setLabel(this.#pre, "code.label", { name });
    this.show(this.#request);
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const here = this.#tabs.findIndex(([name]) => name === this.#chosen);
    const [name, tab] = this.#tabs.at((here + step) % this.#tabs.length);
    this.#choose(name);
    tab.focus();
  }
}
