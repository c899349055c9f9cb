/** The bar of the player at the foot of the page. */
import { h, icon, setIcon } from "../../shared/page/dom.js";
import { integer } from "../../i18n/format.js";
import { indexOf } from "../manuscript/blocks.js";
import { ReaderWords } from "./reader-words.js";
import { setLabel, setMessage } from "../words.js";

const SPEEDS = [0.75, 1, 1.25, 1.5, 2];

export class ReaderBar {
  #element;
  #book;
  #play = h("button", { class: "button-play", id: "play", type: "button" }, icon("pause"));
  #text = h("p", { class: "reader-text", dir: "auto", tabindex: 0 });
  #words;
  #left;
  /** The block that it was about last. */
  #key = null;
  #place = h("span", { class: "reader-place" });

  /** @param {HTMLElement} element @param {import("../manuscript/manuscript.js").Manuscript} manuscript @param {object} books of a client @param {import("./reader.js").Reader} reader @param {(key: string) => void} left told when it goes while it has the focus */
  constructor(element, manuscript, books, reader, left) {
    this.#element = element;
    this.#left = left;
    this.#book = manuscript;
    this.#words = new ReaderWords(this.#text, books, reader);
    const button = (drawing, key, act) => h("button", { class: "button-icon", type: "button", "data-i18n-label": key, onclick: act }, icon(drawing));
    const speed = h("select", { id: "speed", "data-i18n-label": "reader.speed" }, SPEEDS.map((one) => h("option", { value: one, selected: one === 1 }, `${one}×`)));
    speed.addEventListener("change", () => (reader.speed = Number(speed.value)));
    element.append(
      button("previous", "reader.previous", () => reader.skip(-1)),
      this.#play,
      button("next", "reader.next", () => reader.skip(1)),
      h("div", { class: "reader-words" }, this.#text, this.#place),
      speed,
      button("close", "reader.close", () => reader.stop()),
    );
    this.#play.addEventListener("click", () => (reader.playing ? reader.pause() : reader.resume()));
    reader.addEventListener("move", ({ detail }) => this.#show(detail));
  }

  #show({ key, playing, waiting }) {
    if (key === null && this.#element.contains(document.activeElement)) this.#left(this.#key);
    this.#key = key;
    this.#element.hidden = key === null;
    const { id, blocks } = this.#book;
    const place = indexOf(blocks, key);
    this.#words.show(id, blocks[place]?.text ?? "");
    if (key === null) return;
    setIcon(this.#play, playing ? "pause" : "play");
    setLabel(this.#play, playing ? "stage.pause" : "stage.play");
    setMessage(this.#place, waiting ? "reader.waits" : "reader.place", { place: integer(place + 1), count: integer(blocks.length) });
  }
}
