/**
 * The admin page: what the gateway pushes shown as figures, worker cards, lists and a log; beside it what is
 * stored, and what may be changed.
 */
import { byId, h, setText } from "../shared/dom.js";
import { mountNav } from "../shared/nav.js";
import { showProblem } from "../shared/problem-notice.js";
import { AdminAccess, adoptToken } from "./access.js";
import { EtaSection } from "./eta-section.js";
import { FleetSection } from "./fleet-section.js";
import { rememberFolds } from "./folds.js";
import { GraphsSection } from "./graphs-section.js";
import { LiveFeed } from "./live-feed.js";
import { LogSection } from "./log-section.js";
import { PagesSection } from "./pages-section.js";
import { StorageSection } from "./storage-section.js";
import { askForToken } from "./token-sheet.js";
import { VoicesSection } from "./voices-section.js";
import { setMessage } from "./words.js";

const LAMPS = { live: "ready", polling: "waiting", offline: "down" };
/** Sections, and how a line of the log is known to be about them. */
const ABOUT = {
  pages: ({ kind, subject }) => kind === "settings" && subject === "pages",
  eta: ({ kind, subject }) => kind === "settings" && subject === "eta",
  voices: ({ kind }) => kind.startsWith("voice"),
  storage: ({ kind }) => kind.startsWith("session") || kind.startsWith("storage"),
};
/** Storage is counted again at most this often, when requests have ended. */
const STORAGE_PAUSE_MS = 3000;

class Admin {
  #access = new AdminAccess(askForToken);
  #feed = new LiveFeed(this.#access);
  #fleet = new FleetSection((...command) => this.#command(...command));
  #mode = h("span", {});
  #lamp = h("p", { class: "lamp", "data-state": "unknown" }, this.#mode);
  #sections = null;
  #running = 0;
  #storageTimer = null;

  async open() {
    adoptToken(globalThis.location, globalThis.history);
    mountNav(byId("nav")).append(this.#lamp);
    const page = { access: this.#access, say: (text) => setText(byId("status"), text) };
    rememberFolds(document.querySelectorAll("[data-fold]"));
    this.#sections = {
      graphs: new GraphsSection(page),
      voices: new VoicesSection(page),
      storage: new StorageSection(page),
      pages: new PagesSection(page),
      eta: new EtaSection(page),
      log: new LogSection(page),
    };
    this.#listen();
    await this.#feed.run();
  }

  #listen() {
    const on = (type, action) => this.#feed.addEventListener(type, ({ detail }) => action(detail));
    on("fleet", (answer) => this.#fleet.showFleet(answer));
    on("workers", ({ workers }) => this.#fleet.showWorkers(workers));
    on("queue", (answer) => this.#showQueue(answer));
    on("log", (answer) => this.#logged(answer));
    on("mode", (news) => this.#showMode(news));
    document.addEventListener("visibilitychange", () => document.hidden || this.#loadSections());
  }

  #loadSections() {
    for (const section of Object.values(this.#sections)) section.load();
  }

  #showQueue(answer) {
    this.#fleet.showQueue(answer);
    if (answer.running.length < this.#running) {
      this.#storageTimer ??= setTimeout(() => {
        this.#storageTimer = null;
        this.#sections.storage.load();
      }, STORAGE_PAUSE_MS);
    }
    this.#running = answer.running.length;
  }

  /** New lines of the log: what they are about may have been changed by somebody else. */
  #logged(answer) {
    this.#sections.log.show(answer);
    for (const name of changedSections(answer.events)) this.#sections[name].load();
  }

  #showMode({ mode, error }) {
    this.#lamp.dataset.state = LAMPS[mode];
    setMessage(this.#mode, `admin.mode.${mode}`);
    if (mode === "offline") this.#showProblem(error);
    else this.#hideProblem();
    if (mode !== "offline") this.#loadSections();
  }

  #showProblem(error) {
    showProblem(byId("problem"), error, { again: () => this.#feed.poll() });
  }

  #hideProblem() {
    byId("problem").hidden = true;
  }

  async #command(method, path, said, json) {
    this.#hideProblem();
    try {
      const sent = json === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(json) };
      await this.#access.request(path, { method, ...sent });
      setText(byId("status"), said);
      await this.#feed.poll();
    } catch (error) {
      this.#showProblem(error);
    }
  }
}

function changedSections(events) {
  return Object.keys(ABOUT).filter((name) => events.some(ABOUT[name]));
}

new Admin().open();
