/**
 * Clips kept in the browser (IndexedDB): request, figures and the WAV file; the oldest go when there is too much.
 *
 * A browser that keeps nothing (private windows of some) has a store that is always empty.
 */
import { tabs } from "../../shared/hearing/tabs.js";

export const LIMITS = { clips: 40, bytes: 150 * 2 ** 20 };
const DATABASE = "voxfleet";
const STORE = "clips";

/**
 * Ids of the entries that are beyond the limits: the oldest, and those with a star last of all. The newest stays.
 * @param {{id: number, bytes: number, starred?: boolean}[]} newestFirst
 */
export function beyond(newestFirst, limits = LIMITS) {
  const [newest, ...older] = newestFirst;
  const kept = [newest, ...older.filter(({ starred }) => starred), ...older.filter(({ starred }) => !starred)];
  let bytes = 0;
  const within = kept.findIndex((entry, index) => {
    bytes += entry?.bytes ?? 0;
    return index >= limits.clips || (bytes > limits.bytes && index > 0);
  });
  return within < 0 ? [] : kept.slice(within).map(({ id }) => id);
}

export class ClipStore {
  #opening = null;

  /** @returns {Promise<object[]>} newest first: {id, at, bytes, wav: Blob, request, figures, times, name?, starred?} */
  async all() {
    const entries = await this.#run("readonly", (store) => store.getAll());
    return (entries ?? []).reverse();
  }

  /** Keeps a clip, and drops what is too much. @param {{request, figures, wav: Blob, times}} clip @returns whether it is kept */
  async add(clip) {
    const entry = { at: Date.now(), bytes: clip.wav.size, ...clip };
    const id = await this.#run("readwrite", (store) => store.add(entry));
    if (id === null) return false;
    await this.remove(...beyond(await this.all()));
    tabs.tell("clips");
    return true;
  }

  /** @param {object} entry as `all` gave it @param {{name?: string, starred?: boolean}} changes */
  async change(entry, changes) {
    await this.#run("readwrite", (store) => store.put({ ...entry, ...changes }));
    tabs.tell("clips");
  }

  /** Puts back what was removed. @param {object[]} entries as `all` gave them */
  async restore(entries) {
    await this.#run("readwrite", (store) => entries.map((entry) => store.put(entry)).at(-1));
    tabs.tell("clips");
  }

  async remove(...ids) {
    if (ids.length === 0) return;
    await this.#run("readwrite", (store) => ids.map((id) => store.delete(id)).at(-1));
    tabs.tell("clips");
  }

  /** The result of one request in a transaction of its own; null where it can not be done. */
  async #run(mode, ask) {
    const opening = (this.#opening ??= open());
    try {
      const database = await opening;
      return await settled(ask(database.transaction(STORE, mode).objectStore(STORE)));
    } catch {
      if (opening === this.#opening) this.#opening = null; // browsers close it now and then: it is opened anew the next time
      opening.then((database) => database.close(), () => null);
      return null; // no IndexedDB here, or its disk is full
    }
  }
}

async function open() {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id", autoIncrement: true });
  return settled(request);
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
