/**
 * The text of the take that is heard, in the bar of the player: its words light up, a click on one goes there.
 * Until the times of its words are here, or where they cannot be had, it is the text of the block.
 */
import { setText } from "../../shared/page/dom.js";
import { LitWords, timedWords } from "../../shared/hearing/lit-words.js";

export class ReaderWords {
  #element;
  #books;
  #reader;
  #lit;
  #take = null;
  #frame = null;

  /** @param {HTMLElement} element @param {object} books of a client @param {import("./reader.js").Reader} reader */
  constructor(element, books, reader) {
    this.#element = element;
    this.#books = books;
    this.#reader = reader;
    this.#lit = new LitWords(element);
    this.#lit.addEventListener("seek", ({ detail }) => reader.seek(detail));
  }

  /** @param {string} id of the book @param {string} text of the block that is heard */
  show(id, text) {
    const { clip } = this.#reader;
    if (!clip || clip.take !== this.#take) {
      this.#take = clip?.take ?? null;
      setText(this.#element, text);
      this.#element.scrollTop = 0;
      this.#lit.show([]);
      if (clip) this.#ask(id, clip);
    }
    this.#follow();
  }

  async #ask(id, { block, take }) {
    const told = await this.#books.takeWords(id, block, take).catch(() => null); // the text is there without them
    if (!told || take !== this.#take) return;
    this.#lit.show([{ element: this.#element, points: [...told.text.trimEnd()], words: timedWords([told]) }]);
    this.#follow();
  }

  #follow() {
    cancelAnimationFrame(this.#frame);
    const { seconds, playing } = this.#reader;
    this.#lit.move(seconds, playing);
    if (playing) this.#frame = requestAnimationFrame(() => this.#follow());
  }
}
