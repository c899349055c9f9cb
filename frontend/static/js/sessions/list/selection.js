/**
 * Which recordings are chosen, and the bar with what can be done with all of them. It is there as long as one is.
 *
 * Events: "change".
 */
import { h, icon } from "../../shared/page/dom.js";
import { setMessage } from "../words.js";

/** As many as the service packs into one file. */
export const MOST = 100;

export class Selection extends EventTarget {
  #element;
  #chosen = new Set();
  #listed = [];
  #count = h("p", { role: "status" });
  #all = h("button", { class: "button button-quiet", type: "button", "data-i18n": "sessions.chooseAll" });

  /** @param {HTMLElement} element @param {{download: (ids: string[]) => void, remove: (ids: string[]) => void}} actions */
  constructor(element, { download, remove }) {
    super();
    this.#element = element;
    const button = (drawing, key, action) =>
      h("button", { class: "button", type: "button", onclick: () => action(this.ids) }, icon(drawing), h("span", { "data-i18n": key }));
    const none = h("button", { class: "button button-quiet", type: "button", "data-i18n": "sessions.chooseNone", onclick: () => this.clear() });
    this.#all.addEventListener("click", () => this.#chooseAll());
    element.append(this.#count, this.#all, none, button("download", "sessions.downloadChosen", download), button("trash", "sessions.deleteChosen", remove));
    this.#show();
  }

  /** Those on the page: one that has left is not chosen any more. @param {object[]} sessions */
  list(sessions) {
    this.#listed = sessions.filter(({ state }) => state !== "active").map(({ id }) => id);
    this.#chosen = new Set([...this.#chosen].filter((id) => this.#listed.includes(id)));
    this.#show();
  }

  has(id) {
    return this.#chosen.has(id);
  }

  /** In the order of the list. */
  get ids() {
    return this.#listed.filter((id) => this.#chosen.has(id));
  }

  /** @param {string} id @param {boolean} chosen */
  set(id, chosen) {
    if (chosen && this.#chosen.size < MOST) this.#chosen.add(id);
    else this.#chosen.delete(id);
    this.#change();
  }

  clear() {
    this.#chosen.clear();
    this.#change();
  }

  #chooseAll() {
    this.#chosen = new Set(this.#listed.slice(0, MOST));
    this.#change();
  }

  #change() {
    this.#show();
    this.dispatchEvent(new Event("change"));
  }

  #show() {
    this.#element.hidden = this.#chosen.size === 0;
    this.#all.hidden = this.#chosen.size >= Math.min(MOST, this.#listed.length);
    setMessage(this.#count, this.#chosen.size < MOST ? "sessions.chosen" : "sessions.chosenMost", { count: this.#chosen.size });
  }
}
