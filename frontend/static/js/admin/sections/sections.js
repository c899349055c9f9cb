/**
 * The parts of the page that are asked for, one answer each, where workers and queue are pushed. They are a script of
 * their own, which comes once the page has been painted.
 */
import { EtaSection } from "./eta-section.js";
import { GraphsSection } from "./graphs-section.js";
import { LogSection } from "./log-section.js";
import { PagesSection } from "./pages-section.js";
import { StorageSection } from "./storage-section.js";
import { VoicesSection } from "./voices-section.js";

/** Sections, and how a line of the log is known to be about them. */
const ABOUT = {
  pages: ({ kind, subject }) => kind === "settings" && subject === "pages",
  eta: ({ kind, subject }) => kind === "settings" && subject === "eta",
  voices: ({ kind }) => kind.startsWith("voice"),
  storage: ({ kind }) => kind.startsWith("session") || kind.startsWith("storage"),
};
/** Storage is counted again at most this often, when requests have ended. */
const STORAGE_PAUSE_MS = 3000;

export class Sections {
  #all;
  #storageTimer = null;

  /** @param {{access: import("../access.js").AdminAccess, answers: () => boolean, say: (text: string) => void}} page */
  constructor(page) {
    this.#all = {
      graphs: new GraphsSection(page),
      voices: new VoicesSection(page),
      storage: new StorageSection(page),
      pages: new PagesSection(page),
      eta: new EtaSection(page),
      log: new LogSection(page),
    };
  }

  /** Asks for all answers anew. */
  load() {
    for (const section of Object.values(this.#all)) section.load();
  }

  /** The gateway is away: what failed failed for that. */
  hush() {
    for (const section of Object.values(this.#all)) section.clearProblem();
  }

  /** Requests have ended, which may have been recorded. */
  countStorage() {
    this.#storageTimer ??= setTimeout(() => {
      this.#storageTimer = null;
      this.#all.storage.load();
    }, STORAGE_PAUSE_MS);
  }

  /** New lines of the log: what they are about may have been changed by somebody else. */
  showEvents(answer) {
    this.#all.log.show(answer);
    for (const [name, isAbout] of Object.entries(ABOUT)) if (answer.events.some(isAbout)) this.#all[name].load();
  }
}
