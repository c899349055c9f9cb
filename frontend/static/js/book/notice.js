/**
 * What went wrong, as the editor tells it. What succeeds after it takes the notice away, unless it is that something is
 * not saved: that one stays, or comes back, until it is.
 */
import { showProblem } from "../shared/notices/problem-notice.js";

export class Notice {
  #element;
  #save;
  /** Why the last save failed. */
  #unsaved = null;
  #shown = null;

  /** @param {HTMLElement} element @param {() => void} save tries to save again */
  constructor(element, save) {
    this.#element = element;
    this.#save = save;
  }

  /** @param {Error} error @param {() => void} again */
  show(error, again) {
    this.#shown = error;
    showProblem(this.#element, error, { again, books: () => location.assign("/book") });
  }

  showUnsaved(error) {
    this.#unsaved = error;
    this.show(error, this.#save);
  }

  /** Something succeeded. */
  settle() {
    if (!this.#unsaved) this.#element.hidden = true;
    else if (this.#shown !== this.#unsaved) this.showUnsaved(this.#unsaved);
  }

  /** Everything is saved. */
  settleSaved() {
    if (!this.#unsaved) return;
    this.#unsaved = null;
    this.settle();
  }
}
