/**
 * Two clips side by side in time: the other one goes on at the same relative position.
 */
export const SIDES = ["A", "B"];

export class Comparison {
  #entries = {};

  /** The side that is heard, or null. @type {"A" | "B" | null} */
  side = null;

  /** Both sides are chosen. */
  get ready() {
    return SIDES.every((side) => this.#entries[side]);
  }

  /** The chosen entry of a side. */
  entry(side) {
    return this.#entries[side] ?? null;
  }

  /** The side that a press would switch to. */
  get other() {
    return this.side === "A" ? "B" : "A";
  }

  /** Chooses an entry for a side; the same again takes it away. A clip is on one side only. */
  choose(side, entry) {
    const same = this.#entries[side]?.id === entry.id;
    for (const each of SIDES) if (this.#entries[each]?.id === entry.id) delete this.#entries[each];
    if (!same) this.#entries[side] = entry;
    if (!this.ready) this.side = null;
  }

  /** Chooses both sides at once. @param {{A: object, B: object}} entries */
  set(entries) {
    this.#entries = { ...entries };
  }

  /** Keeps only entries that are still there. @param {Set<number>} ids */
  keep(ids) {
    for (const side of SIDES) if (!ids.has(this.#entries[side]?.id)) delete this.#entries[side];
    if (!this.ready) this.side = null;
  }

  /** What is on the stage now: it may be one of the two. */
  heard(id) {
    this.side = SIDES.find((side) => this.#entries[side]?.id === id) ?? null;
  }
}
