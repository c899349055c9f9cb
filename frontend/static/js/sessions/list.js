/**
 * The sessions page: one's recordings, newest first, with a search in their titles.
 *
 * The search looks through what the server has; older pages are fetched while it finds too little.
 */
import { confirmed } from "../shared/confirm.js";
import { byId, h } from "../shared/dom.js";
import { FleetStatus } from "../shared/fleet-status.js";
import { fleet } from "../shared/fleet.js";
import { mountNav } from "../shared/nav.js";
import { showProblem } from "../shared/problem-notice.js";
import { matches, titleOf } from "./facts.js";
import { Jobs } from "./jobs.js";
import { sessionRow } from "./session-row.js";
import { setMessage, t } from "./words.js";

const PAGE = 50;
const ENOUGH_FOUND = 20;
const MOST_SEARCHED = 1000;
const ACTIVE_REFRESH_MS = 4000;

class Sessions {
  #sessions = [];
  #next = null;
  #search = byId("search");
  #list = byId("list");
  #turn = 0;
  #refresh = null;

  async open() {
    new FleetStatus(mountNav(byId("nav"))).start();
    this.#search.value = new URLSearchParams(location.search).get("q") ?? "";
    this.#search.addEventListener("input", () => this.#show());
    byId("more").addEventListener("click", () => this.#loadMore());
    window.addEventListener("apikey", () => this.#load());
    document.addEventListener("visibilitychange", () => document.hidden || this.#load());
    await this.#load();
  }

  /** The newest page again, and what follows it anew. */
  async #load() {
    this.#turn += 1;
    this.#sessions = [];
    this.#next = null;
    await this.#loadMore();
    clearTimeout(this.#refresh);
    if (!this.#sessions.some(({ state }) => state === "active")) return;
    this.#refresh = setTimeout(() => document.hidden || this.#load(), ACTIVE_REFRESH_MS);
  }

  async #loadMore() {
    const turn = this.#turn;
    try {
      const { sessions, next_before: next } = await fleet.sessions({ limit: PAGE, before: this.#next });
      if (turn !== this.#turn) return;
      this.#sessions.push(...sessions);
      this.#next = next;
      byId("problem").hidden = true;
      await this.#show();
    } catch (error) {
      this.#showProblem(error);
    }
  }

  async #show() {
    const words = this.#search.value;
    const found = this.#sessions.filter((session) => matches(session, words));
    this.#list.removeAttribute("aria-busy");
    this.#draw(found);
    byId("more").hidden = this.#next === null;
    const known = this.#next === null ? "sessions.count" : "sessions.countMore";
    setMessage(byId("count"), words.trim() ? "sessions.found" : known, { count: words.trim() ? found.length : this.#sessions.length });
    this.#showBlank(found.length, words.trim());
    if (words.trim() && found.length < ENOUGH_FOUND && this.#next && this.#sessions.length < MOST_SEARCHED) await this.#loadMore();
  }

  #draw(found) {
    const focused = document.activeElement?.closest?.(".session-row")?.dataset.session;
    this.#list.replaceChildren(...found.map((session) => sessionRow(session, (one) => this.#delete(one))));
    if (focused) this.#list.querySelector(`[data-session="${CSS.escape(focused)}"] a`)?.focus();
  }

  #showBlank(found, words) {
    const blank = byId("blank");
    blank.hidden = found > 0;
    if (found > 0) return;
    if (words) blank.replaceChildren(h("p", { "data-i18n": "sessions.noneFound" }));
    else {
      blank.replaceChildren(
        h("p", { class: "blank-title", "data-i18n": "sessions.none" }),
        h("p", { "data-i18n": "sessions.noneHow" }),
        h("p", { class: "blank-links" }, h("a", { class: "button", href: "/live", "data-i18n": "nav.live" }), h("a", { class: "button", href: "/", "data-i18n": "nav.studio" })),
      );
    }
  }

  async #delete(session) {
    const title = titleOf(session);
    if (!(await confirmed({ title: t("sessions.deleteAsk"), text: title, verb: t("sessions.delete") }))) return;
    try {
      await fleet.deleteSession(session.id);
      this.#sessions = this.#sessions.filter(({ id }) => id !== session.id);
      await this.#show();
      setMessage(byId("count"), "sessions.deleted", { title });
      this.#search.focus();
    } catch (error) {
      this.#showProblem(error);
    }
  }

  #showProblem(error) {
    this.#list.replaceChildren();
    this.#list.removeAttribute("aria-busy");
    showProblem(byId("problem"), error, { again: () => this.#load() });
  }
}

new Sessions().open();
new Jobs().open();
