/**
 * The admin page: what the gateway pushes shown as figures, worker cards, lists and a log; beside it what is
 * stored, and what may be changed.
 */
import { byId, h, setText } from "../shared/page/dom.js";
import { mountNav } from "../shared/page/nav.js";
import { painted } from "../shared/page/painted.js";
import { showFailure, showProblem } from "../shared/notices/problem-notice.js";
import { AdminAccess, adoptToken } from "./access.js";
import { FleetSection } from "./fleet/fleet-section.js";
import { rememberFolds } from "./folds.js";
import { LiveFeed } from "./live-feed.js";
import { askForToken } from "./token-sheet.js";
import { setMessage } from "./words.js";

const LAMPS = { live: "ready", polling: "waiting", offline: "down" };

class Admin {
  #access = new AdminAccess(askForToken);
  #feed = new LiveFeed(this.#access);
  #fleet = new FleetSection((...command) => this.#command(...command));
  #mode = h("span", {});
  #lamp = h("p", { class: "lamp", "data-state": "unknown" }, this.#mode);
  #sections = null;
  #adding = false;
  /** Whether the gateway answers: nothing more is asked of one that is away. */
  #answers = false;
  #running = 0;

  async open() {
    adoptToken(globalThis.location, globalThis.history);
    mountNav(byId("nav")).append(this.#lamp);
    rememberFolds(document.querySelectorAll("[data-fold]"));
    this.#listen();
    this.#addSections();
    await this.#feed.run();
  }

  /** Where their script cannot be had, they are added once the gateway is back. */
  async #addSections() {
    if (this.#adding) return;
    this.#adding = true;
    try {
      await painted();
      const { Sections } = await import("./sections/sections.js");
      const say = (text) => setText(byId("status"), text);
      this.#sections = new Sections({ access: this.#access, answers: () => this.#answers, say });
      this.#loadSections();
    } catch ({ message }) {
      if (this.#answers) showProblem(byId("problem"), { code: "page_part", message });
    } finally {
      this.#adding = false;
    }
  }

  #loadSections() {
    if (!this.#answers) return;
    if (this.#sections) this.#sections.load();
    else this.#addSections();
  }

  #listen() {
    const on = (type, action) => this.#feed.addEventListener(type, ({ detail }) => action(detail));
    on("fleet", (answer) => this.#fleet.showFleet(answer));
    on("workers", (answer) => this.#fleet.showWorkers(answer));
    on("queue", (answer) => this.#showQueue(answer));
    on("log", (answer) => this.#sections?.showEvents(answer));
    on("mode", (news) => this.#showMode(news));
    document.addEventListener("visibilitychange", () => document.hidden || this.#loadSections());
  }

  #showQueue(answer) {
    this.#fleet.showQueue(answer);
    if (answer.running.length < this.#running) this.#sections?.countStorage();
    this.#running = answer.running.length;
  }

  #showMode({ mode, error }) {
    this.#lamp.dataset.state = LAMPS[mode];
    setMessage(this.#mode, `admin.mode.${mode}`);
    this.#answers = mode !== "offline";
    if (this.#answers) {
      this.#hideProblem();
      this.#loadSections();
    } else {
      this.#showProblem(error);
      this.#sections?.hush();
    }
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
      showFailure(byId("problem"), error, { again: () => this.#feed.poll() });
    }
  }
}

new Admin().open();
