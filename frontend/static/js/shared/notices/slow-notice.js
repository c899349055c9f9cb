/**
 * The notice for a listener whose audio comes more slowly than it is heard: first that it is so, then the clip.
 */
import { h, icon } from "../page/dom.js";
import { setMessage } from "../../i18n/i18n.js";

export class SlowNotice {
  #element;
  #words = h("p", { role: "status" });
  #button;

  /**
   * @param {HTMLElement} element shown while there is something to say
   * @param {{making: string, action: string}} keys of the first words, and of the button that takes the clip
   * @param {() => void} onClip the listener wants the clip
   */
  constructor(element, { making, action }, onClip) {
    this.#element = element;
    this.making = making;
    this.#button = h("button", { class: "button", type: "button", onclick: onClip }, h("span", { "data-i18n": action }));
    element.append(icon("warning"), this.#words, this.#button);
  }

  /** Whether it is shown. */
  get shown() {
    return !this.#element.hidden;
  }

  /** The audio is still coming. */
  showSlow() {
    this.#show(this.making, false);
  }

  /** All of it is there. */
  offerClip() {
    this.#show("slow.finished", true);
  }

  hide() {
    this.#element.hidden = true;
  }

  #show(key, offered) {
    if (this.shown && this.#button.hidden === !offered) return;
    this.#button.hidden = !offered;
    this.#element.hidden = false;
    setMessage(this.#words, key);
  }
}
