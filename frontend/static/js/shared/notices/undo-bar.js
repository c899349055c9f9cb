/**
 * What was just deleted, and the button that brings it back. It stays until something else is deleted.
 */
import { h, icon } from "../page/dom.js";
import { setLabel, setMessage } from "../../i18n/i18n.js";

export class UndoBar {
  #element;
  #words = h("p", { role: "status" });
  #button = h("button", { class: "button", type: "button" }, icon("back"), h("span", { "data-i18n": "undo.undo" }));
  #undo = null;

  /** @param {HTMLElement} element hidden while there is nothing to bring back @param {{closed?: () => void}} how told when it is closed; it has a button for that */
  constructor(element, { closed } = {}) {
    this.#element = element;
    element.append(this.#words, this.#button, closed ? this.#closing(closed) : "");
    this.#button.addEventListener("click", () => this.#press());
  }

  #closing(closed) {
    const close = () => {
      this.#element.hidden = true;
      closed();
    };
    return setLabel(h("button", { class: "button-icon", type: "button", onclick: close }, icon("close")), "dialog.close");
  }

  /** @param {string} key of the message @param {object} values of it @param {() => Promise<void>} undo */
  offer(key, values, undo) {
    this.#undo = undo;
    this.#element.hidden = false;
    setMessage(this.#words, key, values);
    this.#button.focus();
  }

  async #press() {
    const undo = this.#undo;
    this.#undo = null;
    this.#element.hidden = true;
    await undo?.();
  }
}
