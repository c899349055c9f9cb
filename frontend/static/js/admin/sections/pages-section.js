/**
 * Which pages are on: one switch per page. A switch moves when the server has agreed.
 */
import { h } from "../../shared/page/dom.js";
import { Section } from "./section.js";
import { t } from "../words.js";

export class PagesSection extends Section {
  constructor(page) {
    super("pages", "/api/pages", page);
  }

  /** @param {{pages: {id: string, enabled: boolean}[]}} answer */
  show({ pages }) {
    const focused = document.activeElement?.id;
    this.body.replaceChildren(...pages.map((page) => this.#row(page)));
    if (focused?.startsWith("page-")) document.getElementById(focused)?.focus();
  }

  #row({ id, enabled }) {
    const known = ["studio", "live", "chat", "books", "sessions", "voices"].includes(id);
    const name = known ? { "data-i18n": `admin.page.${id}` } : {};
    const input = h("input", { id: `page-${id}`, type: "checkbox", role: "switch", checked: enabled });
    input.addEventListener("click", (event) => event.preventDefault());
    input.addEventListener("click", () => this.#toggle(id, !enabled));
    return h(
      "li",
      {},
      h(
        "label",
        { class: "switch-row" },
        h("span", { class: "switch-words" }, h("b", name, ...(known ? [] : [id])), h("small", known ? { "data-i18n": `admin.page.${id}.about` } : {})),
        input,
        h("span", { class: "switch", "aria-hidden": "true" }),
      ),
    );
  }

  async #toggle(id, enabled) {
    const response = await this.send("PUT", "/api/pages", { pages: [{ id, enabled }] });
    if (!response) return;
    this.page.say(t(enabled ? "admin.pageOn" : "admin.pageOff", { page: t(`admin.page.${id}`) }));
    await this.load();
  }
}
