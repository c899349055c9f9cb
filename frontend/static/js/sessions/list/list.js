/**
 * The sessions page: one's recordings, newest first. The service searches what was said in them; they are played in
 * their rows, several are fetched or deleted at once, and one is spoken anew in the studio.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { byId, h } from "../../shared/page/dom.js";
import { keepFocus } from "../../shared/page/focus.js";
import { FleetStatus } from "../../shared/service/fleet-status.js";
import { fleet } from "../../shared/service/fleet.js";
import { mountNav } from "../../shared/page/nav.js";
import { showFailure, showProblem } from "../../shared/notices/problem-notice.js";
import { needsKey } from "../../shared/notices/problems.js";
import { save } from "../../shared/files/save.js";
import { rememberVoices } from "../../voices/voice-names.js";
import { titleOf } from "../facts.js";
import { Jobs } from "./jobs.js";
import { Pages, isActive } from "./pages.js";
import { RowPlayer } from "./row-player.js";
import { Selection } from "./selection.js";
import { sessionRow, showHeard } from "./session-row.js";
import { studioAddress } from "../to-studio.js";
import { setMessage, t } from "../words.js";

const PAGE = 50;
const ACTIVE_REFRESH_MS = 4000;
const TYPING_MS = 250;

class Sessions {
  #pages = new Pages((before) => fleet.sessions({ limit: PAGE, before, search: this.#words || null }));
  #search = byId("search");
  #list = byId("list");
  #loaded = false;
  /** The words that were searched for. */
  #shown = "";
  #refresh = null;
  #typing = null;
  #jobs = new Jobs();
  #player = new RowPlayer();
  #selection = new Selection(byId("chosen"), { download: (ids) => this.#download(ids), remove: (ids) => this.#deleteChosen(ids) });

  async open() {
    new FleetStatus(mountNav(byId("nav")), () => this.#goOn()).start();
    this.#search.value = new URLSearchParams(location.search).get("q") ?? "";
    this.#search.addEventListener("input", () => this.#searchSoon());
    byId("more").addEventListener("click", () => this.#read(() => this.#pages.following()));
    window.addEventListener("apikey", () => this.#load());
    document.addEventListener("visibilitychange", () => document.hidden || this.#load(() => this.#again()));
    this.#player.addEventListener("change", () => this.#showHeard());
    this.#selection.addEventListener("change", () => this.#showChosen());
    await Promise.all([this.#load(), this.#loadVoices(), this.#jobs.open()]);
  }

  #goOn() {
    this.#load(() => this.#again());
    this.#jobs.load();
  }

  get #sessions() {
    return this.#pages.sessions;
  }

  get #words() {
    return this.#search.value.trim();
  }

  #searchSoon() {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => this.#find(), TYPING_MS);
  }

  /** What is searched for stands in the address: it is there after a reload, and for who comes back from a recording. */
  #find() {
    history.replaceState(null, "", this.#words ? `?${new URLSearchParams({ q: this.#words })}` : location.pathname);
    return this.#load();
  }

  /** The newest page and nothing else, or what `page` asks for; again in a while where one is being recorded. */
  async #load(page = () => this.#pages.newest()) {
    clearTimeout(this.#refresh);
    await this.#read(page);
    clearTimeout(this.#refresh); // of another one meanwhile
    if (!this.#sessions.some(isActive)) return;
    this.#refresh = setTimeout(() => document.hidden || this.#load(() => this.#again()), ACTIVE_REFRESH_MS);
  }

  /** What is listed stays, as long as the same is searched for. @returns {Promise<boolean>} */
  #again() {
    return this.#words === this.#shown ? this.#pages.again() : this.#pages.newest();
  }

  /** @param {() => Promise<boolean>} page */
  async #read(page) {
    const words = this.#words;
    try {
      if (!(await page())) return;
      this.#loaded = true;
      this.#shown = words;
      byId("problem").hidden = true;
      this.#show();
    } catch (error) {
      this.#showProblem(error);
    }
  }

  /** Voices of one's own have names that their ids do not tell. */
  async #loadVoices() {
    try {
      rememberVoices(await fleet.voices());
    } catch {
      return; // the list of recordings tells what is wrong
    }
    this.#show();
  }

  // -------------------------------------------------------------------------------------------------- shown

  #show() {
    if (!this.#loaded) return;
    this.#list.removeAttribute("aria-busy");
    this.#selection.list(this.#sessions);
    this.#draw();
    byId("more").hidden = !this.#pages.more;
    const known = this.#pages.more ? "sessions.countMore" : "sessions.count";
    setMessage(byId("count"), this.#words ? "sessions.found" : known, { count: this.#sessions.length, more: this.#pages.more ? "+" : "" });
    this.#showBlank();
  }

  #draw() {
    const draw = () => this.#list.replaceChildren(...this.#sessions.map((session) => this.#row(session)));
    keepFocus(this.#list, "data-session", draw, this.#search);
    this.#showHeard();
  }

  #row(session) {
    return sessionRow(session, {
      chosen: this.#selection.has(session.id),
      choose: ({ id }, chosen) => this.#selection.set(id, chosen),
      play: (one) => this.#try(() => this.#player.toggle(one)),
      open: ({ id }) => this.#try(async () => location.assign(studioAddress(await fleet.session(id)))),
      remove: (one) => this.#delete(one),
    });
  }

  /** Each row with its session. */
  #rows() {
    const rows = [...this.#list.querySelectorAll("[data-session]")];
    return rows.map((row) => [row, this.#sessions.find(({ id }) => id === row.dataset.session)]).filter(([, session]) => session);
  }

  #showHeard() {
    const { id, playing, progress } = this.#player;
    for (const [row, session] of this.#rows()) {
      const heard = session.id === id;
      if (heard || row.dataset.heard !== undefined) showHeard(row, session, { playing: heard && playing, progress: heard ? progress : 0 });
      row.toggleAttribute("data-heard", heard);
    }
  }

  #showChosen() {
    for (const [row, { id }] of this.#rows()) row.querySelector("input").checked = this.#selection.has(id);
  }

  #showBlank() {
    const blank = byId("blank");
    blank.hidden = this.#sessions.length > 0;
    if (!blank.hidden && this.#words) blank.replaceChildren(h("p", { "data-i18n": "sessions.noneFound" }));
    else if (!blank.hidden) {
      blank.replaceChildren(
        h("p", { class: "blank-title", "data-i18n": "sessions.none" }),
        h("p", { "data-i18n": "sessions.noneHow" }),
        h("p", { class: "blank-links" }, h("a", { class: "button", href: "/live", "data-i18n": "nav.live" }), h("a", { class: "button", href: "/", "data-i18n": "nav.studio" })),
      );
    }
  }

  // ------------------------------------------------------------------------------------------------- actions

  async #delete(session) {
    const title = titleOf(session);
    if (!(await confirmed({ title: t("sessions.deleteAsk"), text: title, verb: t("sessions.delete") }))) return;
    await this.#remove([session.id], () => setMessage(byId("count"), "sessions.deleted", { title }));
  }

  async #deleteChosen(ids) {
    const question = { title: t("sessions.deleteSeveralAsk", { count: ids.length }), verb: t("sessions.delete") };
    if (!(await confirmed(question))) return;
    await this.#remove(ids, () => setMessage(byId("count"), "sessions.deletedSeveral", { count: ids.length }));
  }

  /** Those that went are gone from the page, also where one could not be deleted, or was not there any more. */
  async #remove(ids, say) {
    await this.#try(async () => {
      let missing = null;
      for (const id of ids) {
        if (id === this.#player.id) this.#player.stop();
        missing = (await this.#removed(id)) ?? missing;
        this.#pages.remove(id);
      }
      if (missing) throw missing;
    });
    this.#show();
    if (byId("problem").hidden) say();
    this.#search.focus();
  }

  /** @returns {Promise<Error | null>} where another page was faster @throws {ApiError} */
  async #removed(id) {
    try {
      await fleet.deleteSession(id);
      return null;
    } catch (error) {
      if (error.code === "unknown_session") return error;
      throw error;
    }
  }

  #download(ids) {
    const download = async () => {
      setMessage(byId("count"), "session.packing");
      const file = ids.length === 1 ? await fleet.downloadSession(ids[0]) : await fleet.downloadSessions(ids);
      save(file, file.name);
      setMessage(byId("count"), "session.downloaded");
    };
    return this.#try(download, () => this.#download(ids));
  }

  /** @param {() => Promise<void>} action @param {() => void} [again] what is offered if it fails */
  async #try(action, again = () => this.#load()) {
    byId("problem").hidden = true;
    try {
      await action();
    } catch (error) {
      this.#show(); // the count says what is there, not what was tried
      showFailure(byId("problem"), error, { again });
    }
  }

  /** What is shown stays, unless something else was searched for, or nobody knows who asks. */
  #showProblem(error) {
    if (needsKey(error) || this.#words !== this.#shown) {
      this.#loaded = false;
      this.#list.replaceChildren();
    }
    this.#list.removeAttribute("aria-busy");
    showProblem(byId("problem"), error, { again: () => this.#load() });
  }
}

new Sessions().open();
