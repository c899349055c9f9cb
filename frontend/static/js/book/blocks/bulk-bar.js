/** The bar for blocks that are selected: how many they are, and what can be done with all of them. */
import { h } from "../../shared/page/dom.js";
import { integer } from "../../i18n/format.js";
import { setMessage } from "../words.js";

export class BulkBar {
  #element;
  #count = h("p", {});
  #buttons;

  /** @param {HTMLElement} element @param {Record<"voice" | "make" | "remove" | "clear", () => void>} actions */
  constructor(element, { voice, make, remove, clear }) {
    const button = (key, act) => () => h("button", { class: "button", type: "button", onclick: act, "data-i18n": key });
    this.#element = element;
    this.#buttons = [button("bulk.voice", voice), button("bulk.make", make), button("block.remove", remove), button("bulk.clear", clear)];
  }

  /** @param {number} count of the selected blocks */
  show(count) {
    const was = this.#element.hidden;
    this.#element.hidden = count === 0;
    if (count === 0) this.#element.replaceChildren();
    else if (was) this.#element.replaceChildren(this.#count, ...this.#buttons.map((made) => made()));
    if (count > 0) setMessage(this.#count, "bulk.chosen", { count: integer(count) });
  }
}
