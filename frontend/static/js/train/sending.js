/**
 * Sends recordings and begins the training. What was sent stays sent: after a mistake was put right, the rest follows.
 */
import { fleet } from "../shared/service/fleet.js";

export class Sending {
  #entries;
  #training = null;
  #order = "";

  /** @param {import("./entries.js").Entries} entries */
  constructor(entries) {
    this.#entries = entries;
    entries.addEventListener("unsent", ({ detail }) => this.#forget(detail));
  }

  /**
   * @param {object} order the body of a new training, or {id} of one that is to have more recordings
   * @param {(progress: {sent: number, count: number}) => void} told
   * @returns {Promise<{training: object | null, refused: number}>} the training that was started; null where some recordings were refused
   * @throws {ApiError} for what is wrong with all of it
   */
  async send(order, told) {
    await this.#begin(order);
    const all = this.#entries.all;
    let refused = 0;
    for (const [place, entry] of all.entries()) {
      told({ sent: place, count: all.length });
      if (!(await this.#sendOne(entry))) refused += 1;
    }
    if (refused > 0) return { training: null, refused };
    const training = await fleet.trainings.start(this.#training);
    this.#training = null;
    return { training, refused };
  }

  async #begin(order) {
    const asked = JSON.stringify(order);
    if (this.#training && asked !== this.#order) await this.#abandon();
    if (this.#training) return;
    this.#training = order.id ?? (await fleet.trainings.create(order)).id;
    this.#order = asked;
  }

  /** What was begun for another voice; what goes on by itself elsewhere stays. */
  async #abandon() {
    const ours = !JSON.parse(this.#order).id;
    if (ours) await fleet.trainings.delete(this.#training).catch(() => null); // it goes by itself after some days
    this.#training = null;
    for (const entry of this.#entries.all) entry.sent = null;
  }

  /** @returns {Promise<boolean>} whether it was taken */
  async #sendOne(entry) {
    if (entry.sent) return true;
    const { transcript } = entry;
    try {
      const { id } = await fleet.trainings.addRecording(this.#training, entry.audio, entry);
      if (!this.#entries.holds(entry) || entry.transcript !== transcript) {
        await this.#forget(id);
        return this.#entries.holds(entry) ? this.#sendOne(entry) : true;
      }
      entry.sent = id;
      this.#entries.say(entry, null);
      return true;
    } catch (error) {
      if (error.status !== 422) throw error; // it holds for the next one, too
      this.#entries.say(entry, error);
      return false;
    }
  }

  /** What was taken away is not to be trained with: where that cannot be said, all is sent anew. */
  async #forget(recording) {
    if (this.#training) await fleet.trainings.deleteRecording(this.#training, recording).catch(() => this.#abandon());
  }
}
