/** "The same as code": what the studio asks for, in several languages, and a copy button. */
import { copyButton } from "../shared/page/clipboard.js";
import { h, setText } from "../shared/page/dom.js";
import { tabList } from "../shared/page/tab-list.js";
import { apiKey } from "../shared/service/fleet.js";
import { setLabel } from "../i18n/i18n.js";
import { SNIPPETS } from "./snippets.js";

export class CodePanel {
  #tabs = tabList(Object.keys(SNIPPETS), { panel: "code-text", label: "code.tabs", choose: (name) => this.#choose(name) });
  #pre = h("pre", { class: "listing", id: "code-text", tabindex: "0", role: "tabpanel" });
  #chosen = "curl";
  #request = { text: "", format: "wav" };

  /** @param {HTMLElement} body */
  constructor(body) {
    const copy = copyButton(() => this.#pre.textContent, "code.copy");
    body.append(h("div", { class: "code-head" }, this.#tabs.list, copy), this.#pre);
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
    this.#tabs.select(name);
    setLabel(this.#pre, "code.label", { name });
    this.show(this.#request);
  }
}
