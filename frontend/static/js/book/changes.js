/**
 * What is changed in several parts of a book at once, by its own words or by those that are selected, and the way back.
 */
import { byId } from "../shared/page/dom.js";
import { integer } from "../i18n/format.js";
import { UndoBar } from "../shared/notices/undo-bar.js";
import { without, withVoice } from "./manuscript/blocks.js";
import { askCast, askVoice } from "./sheets.js";

export class Changes {
  #book;
  #list;
  #voices;
  #undo = new UndoBar(byId("undo"), { closed: () => this.#list.focus(this.#changed) });
  #changed = new Set();

  /** @param {Manuscript} book @param {BlockList} list @param {Voices} voices */
  constructor(book, list, voices) {
    this.#book = book;
    this.#list = list;
    this.#voices = voices;
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  /** @param {Set<string>} keys of blocks */
  remove(keys) {
    this.#list.clearSelection();
    this.#book.change(without(this.#book.blocks, new Set(keys)), { removes: true });
    this.#offerUndo("bulk.removed", keys);
  }

  /** A voice for what is selected. */
  async give() {
    const voice = await askVoice(this.#voices, this.#book.book.voice);
    this.#voices.hush();
    if (voice === undefined) return;
    const keys = this.#list.selected;
    this.#list.clearSelection(); // what is selected next gets a voice of its own
    this.#give({ keys, voice });
  }

  /** A voice for what is found by its words. */
  async cast() {
    const cast = await askCast(this.#book.blocks, this.#voices, this.#book.book.voice);
    this.#voices.hush();
    if (cast) this.#give(cast);
  }

  #give({ keys, voice, quotedOnly = false }) {
    this.#book.change(withVoice(this.#book.blocks, keys, voice, { quotedOnly }));
    this.#offerUndo("bulk.gave", keys);
  }

  /** @param {string} key of the message @param {Set<string>} keys of the blocks that were changed */
  #offerUndo(key, keys) {
    this.#changed = keys;
    this.#undo.offer(key, { count: integer(keys.size) }, async () => {
      this.#book.undo();
      this.#list.focus(keys);
    });
  }

  #key(event) {
    const undo = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "z";
    if (!undo || event.target.closest("input, textarea, .block-text, dialog") || !this.#book.canUndo) return;
    event.preventDefault();
    this.#book.undo();
  }
}
