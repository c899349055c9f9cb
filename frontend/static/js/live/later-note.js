/**
 * Says that settings were changed that a session which runs does not take any more, and offers to begin one that does.
 */
import { h, icon } from "../shared/page/dom.js";

export class LaterNote {
  #element;
  /** What the session was started with, as JSON. */
  #started = null;

  /** @param {HTMLElement} element @param {() => void} onAnew */
  constructor(element, onAnew) {
    this.#element = element;
    element.append(
      icon("warning"),
      h("p", { role: "status", "data-i18n": "live.later" }),
      h("button", { class: "button", id: "start-anew", type: "button", onclick: onAnew, "data-i18n": "live.startAnew" }),
    );
  }

  /** @param {object} options that a session begins with */
  begin(options) {
    this.#started = JSON.stringify(options);
    this.#element.hidden = true;
  }

  /** @param {object} options as they are set now @param {boolean} busy whether the session goes on */
  show(options, busy) {
    this.#element.hidden = !busy || JSON.stringify(options) === this.#started;
  }
}
