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

  /** Id of the training that this page has begun and not started yet; null when there is none. */
  get begun() {
    return this.#training && !JSON.parse(this.#order).id ? this.#training : null;
  }

  /**
   * All of the entries, with those that come meanwhile.
   * @param {object} order the body of a new training, or {id} of one that is to have more recordings
   * @param {(progress: {sent: number, count: number}) => void} told
   * @returns {Promise<{training: object | null, refused: number}>} the training that was started; null where some recordings were refused
   * @throws {ApiError} for what is wrong with all of it
   */
  async send(order, told) {
    try {
      return await this.#sendAndStart(order, told);
    } catch (error) {
      if (error.code === "unknown_training") this.#forgetAll(); // it went meanwhile: the next try begins anew
      throw error;
    }
  }

  async #sendAndStart(order, told) {
    await this.#sendAll(order, told);
    const refused = this.#entries.all.filter(({ sent }) => !sent).length;
    if (refused > 0) return { training: null, refused };
    const id = this.#training;
    this.#training = null; // what it has is not changed any more
    try {
      return { training: await fleet.trainings.start(id), refused };
    } catch (error) {
      this.#training = id;
      throw error;
    }
  }

  /** Until each was taken, or refused with the words that it has. */
  async #sendAll(order, told) {
    const refused = new Map();
    for (;;) {
      await this.#begin(order);
      const { all } = this.#entries;
      const waiting = all.filter((entry) => !entry.sent && refused.get(entry) !== entry.transcript);
      if (waiting.length === 0) return;
      told({ sent: all.length - waiting.length, count: all.length });
      const [entry] = waiting;
      const { transcript } = entry;
      if (!(await this.#sendOne(entry))) refused.set(entry, transcript);
    }
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
    if (this.begun) await fleet.trainings.delete(this.begun).catch(() => null); // it goes by itself after some days
    this.#forgetAll();
  }

  #forgetAll() {
    this.#training = null;
    for (const entry of this.#entries.all) entry.sent = null;
  }

  /** @returns {Promise<boolean>} false when it was refused; what was changed or taken away meanwhile is not kept there */
  async #sendOne(entry) {
    const { transcript } = entry;
    const training = this.#training;
    try {
      const { id } = await fleet.trainings.addRecording(training, entry.audio, entry);
      if (training !== this.#training) return true; // all is sent anew
      if (!this.#entries.holds(entry) || entry.transcript !== transcript) {
        await this.#forget(id);
        return true;
      }
      entry.sent = id;
      this.#entries.say(entry, null);
    } catch (error) {
      if (error.status !== 422 && error.code !== "file_unreadable") throw error; // it holds for the next one, too
      if (this.#entries.holds(entry)) this.#entries.say(entry, error);
      return false;
    }
    return true;
  }

  /** What was taken away is not to be trained with: where that cannot be said, all is sent anew. */
  async #forget(recording) {
    if (this.#training) await fleet.trainings.deleteRecording(this.#training, recording).catch(() => this.#abandon());
  }
}
