/**
 * What was heard of a live session, kept for the tab, so that a reload does not lose it.
 *
 * A transcript is a list of paragraphs, each a list of runs [text, kind]; kinds are "heard", "dropped", "cut" and "text".
 */
import { ofTab, Remembered } from "../shared/page/storage.js";

const MOST_CHARACTERS = 20_000;

/** The last paragraphs of a transcript that have room together; never less than the last. */
export function newest(paragraphs, most = MOST_CHARACTERS) {
  let room = most;
  const size = (runs) => runs.reduce((sum, [text]) => sum + text.length, 0);
  const first = paragraphs.findLastIndex((runs) => (room -= size(runs)) < 0);
  return paragraphs.slice(Math.min(first + 1, paragraphs.length - 1));
}

export class TranscriptMemory {
  #memory = new Remembered("live-transcript", ofTab);

  /** @returns {[string, string][][]} */
  load() {
    const { paragraphs } = this.#memory.load();
    return Array.isArray(paragraphs) ? paragraphs : [];
  }

  /** @param {[string, string][][]} paragraphs */
  save(paragraphs) {
    this.#memory.save({ paragraphs: newest(paragraphs) });
  }
}
