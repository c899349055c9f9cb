/**
 * The text of a recording: words that light up while they are spoken, and take the player to them when clicked. Each
 * utterance begins with its time, which is a button for the keyboard. Event "seek" (detail: seconds).
 */
import { h } from "../../shared/page/dom.js";
import { clock } from "../../i18n/format.js";
import { LitWords } from "../../shared/hearing/lit-words.js";
import { outcomeText } from "./event-list.js";
import { setLabel, setMessage } from "../words.js";

export class Reader extends EventTarget {
  #lit;

  /** @param {HTMLElement} box that scrolls @param {import("./narrative.js").Narrative} narrative */
  constructor(box, { utterances }) {
    super();
    this.#lit = new LitWords(box);
    this.#lit.addEventListener("seek", ({ detail }) => this.#seek(detail));
    const texts = utterances.map(({ points, words, index }) => ({ points, words, element: h("p", { class: "script-text", dir: "auto", "data-utterance": index }) }));
    this.#lit.show(texts);
    box.replaceChildren(...utterances.map((utterance, place) => this.#paragraph(utterance, texts[place].element)));
  }

  /** @param {number} seconds of the audio @param {boolean} playing whether it is being heard */
  show(seconds, playing) {
    this.#lit.move(seconds, playing);
  }

  #paragraph({ points, from, outcome }, text) {
    const start = h("button", { class: "utterance-time", type: "button", onclick: () => this.#seek(from) }, clock(from).replace(/\.\d$/, ""));
    setLabel(start, "session.playFrom", { time: clock(from), text: points.slice(0, 40).join("").trim() });
    if (!["stop", null, undefined].includes(outcome)) {
      text.append(setMessage(h("span", { class: "cut" }), "text.plain", { text: () => outcomeText(outcome) }));
    }
    return h("div", { class: "utterance" }, start, text);
  }

  #seek(seconds) {
    this.dispatchEvent(new CustomEvent("seek", { detail: seconds }));
  }
}
