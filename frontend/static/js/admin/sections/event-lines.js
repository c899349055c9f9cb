/**
 * The lines of the event log that the page has: newest first, each once, bounded.
 *
 *   const lines = new EventLines();
 *   lines.add([{ id: 2, at, kind, subject, message }]);
 *   lines.filtered("worker", "w0", textOf); // those of a kind (or a family of kinds) that hold the words
 */
import { finder } from "../../shared/page/search.js";

export const MAX_LINES = 500;

const keyOf = ({ id, at, kind, subject }) => (id === null || id === undefined ? `${at} ${kind} ${subject}` : id);

/** "worker_up" -> "worker": kinds are grouped by what they are about. */
function familyOf(kind) {
  return kind.split(/[_.]/)[0];
}

export class EventLines {
  #lines = [];

  /** @param {object[]} added in any order @returns {number} how many were new */
  add(added) {
    const known = new Set(this.#lines.map(keyOf));
    const fresh = added.filter((line) => !known.has(keyOf(line)));
    const newestFirst = (one, other) => other.at.localeCompare(one.at) || (other.id ?? 0) - (one.id ?? 0);
    this.#lines = [...this.#lines, ...fresh].sort(newestFirst).slice(0, MAX_LINES);
    return fresh.length;
  }

  /** Families of kinds that occur, by name. */
  get families() {
    return [...new Set(this.#lines.map(({ kind }) => familyOf(kind)))].sort();
  }

  /** The smallest number of a line, to ask for those before it; null when there is none. */
  get oldestId() {
    const ids = this.#lines.map(({ id }) => id).filter(Number.isInteger);
    return ids.length ? Math.min(...ids) : null;
  }

  /**
   * @param {string} family "" for all @param {string} words that all have to occur, in any case
   * @param {(line: object) => string} read the text of a line, as it is shown
   */
  filtered(family, words, read = ({ kind, subject, message }) => `${kind} ${subject} ${message}`) {
    const found = finder(words);
    return this.#lines.filter((line) => (!family || familyOf(line.kind) === family) && found(read(line)));
  }
}
