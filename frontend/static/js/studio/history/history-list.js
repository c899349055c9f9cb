/**
 * The clips of this browser as a list: hear again, compare, name, star, take the settings back, download, delete. Where
 * there are many, those with some words, or with a star, can be looked for; all that are listed become one zip file.
 *
 * Events: "replay", "restore", "download", "star" (detail: the entry), "rename" (detail: {entry, name}), "compare"
 * (detail: {entry, side}), "delete" (detail: the entry), "export" (detail: the listed entries) and "clear".
 */
import { byId, h, icon } from "../../shared/page/dom.js";
import { keepFocus } from "../../shared/page/focus.js";
import { finder } from "../../shared/page/search.js";
import { clock } from "../../i18n/format.js";
import { locale, setLabel, setMessage } from "../../i18n/i18n.js";
import { SIDES } from "./compare.js";
import { titleOf } from "./download.js";

const MANY = 6;
const MAX_NAME = 120;

/** Whether an entry has all the words in its name, its text or its voice. */
export function matches({ name = "", request, figures }, words) {
  return finder(words)(`${name} ${request.text} ${figures.voice_name ?? request.voice}`);
}

export class HistoryList extends EventTarget {
  #list = byId("history-list");
  #words = byId("history-words");
  #starred = byId("history-starred");
  #rows = new Map();
  #entries = new Map();
  #marked = {};
  #renaming = false;
  /** Whether there is something else to show once the name is written. */
  #stale = false;

  constructor() {
    super();
    byId("history-clear").addEventListener("click", () => this.#emit("clear"));
    byId("history-export").addEventListener("click", () => this.#emit("export", this.#listed));
    this.#words.addEventListener("input", () => this.#draw());
    this.#starred.addEventListener("click", () => {
      this.#starred.setAttribute("aria-pressed", String(!this.#onlyStarred));
      this.#draw();
    });
  }

  /** @param {object[]} entries of the ClipStore */
  show(entries) {
    this.#entries = new Map(entries.map((entry) => [entry.id, entry]));
    byId("history-empty").hidden = entries.length > 0;
    byId("history-clear").hidden = entries.filter(({ starred }) => !starred).length < 2;
    byId("history-export").hidden = entries.length < 2;
    const stars = entries.some(({ starred }) => starred);
    if (!stars) this.#starred.setAttribute("aria-pressed", "false");
    this.#starred.hidden = !stars;
    byId("history-search").hidden = entries.length < MANY && !this.#words.value;
    setMessage(byId("history-count"), "text.plain", { text: entries.length || "" });
    this.#draw();
  }

  /** A kept clip by its id, if it is still there. */
  entry(id) {
    return this.#entries.get(id) ?? null;
  }

  /** Marks what is on the stage, and what is compared. @param {{shown?: number, A?: number, B?: number}} ids */
  mark(ids) {
    this.#marked = ids;
    const { shown, ...sides } = ids;
    for (const [id, row] of this.#rows) {
      row.toggleAttribute("data-shown", id === shown);
      for (const side of SIDES) {
        row.querySelector(`[data-side="${side}"]`).setAttribute("aria-pressed", String(sides[side] === id));
      }
    }
  }

  /** Back to the button that was pressed: its row has been drawn anew. @param {number} id @param {string} event */
  focus(id, event) {
    this.#rows.get(id)?.querySelector(`[data-event="${event}"]`)?.focus();
  }

  get #onlyStarred() {
    return this.#starred.getAttribute("aria-pressed") === "true";
  }

  get #listed() {
    return [...this.#entries.values()].filter((entry) => (entry.starred || !this.#onlyStarred) && matches(entry, this.#words.value));
  }

  /** A name that is being written is not taken away by what comes meanwhile, nor is the focus. */
  #draw() {
    this.#stale = this.#renaming;
    if (this.#renaming) return;
    this.#rows = new Map(this.#listed.map((entry) => [entry.id, this.#row(entry)]));
    keepFocus(this.#list, "data-clip", () => this.#list.replaceChildren(...this.#rows.values()));
    byId("history-none").hidden = this.#rows.size > 0 || this.#entries.size === 0;
    this.mark(this.#marked);
  }

  #row(entry) {
    const { request, figures, at, starred = false } = entry;
    const facts = () => [figures.voice_name ?? request.voice, clock(figures.audio_seconds), when(at)].join(" · ");
    const star = this.#button("star", "star", "history.star", entry, "clip-star");
    star.setAttribute("aria-pressed", String(starred));
    const title = h("span", { class: "clip-text", dir: "auto" }, titleOf(entry));
    const rename = this.#button("edit", "rename", "history.rename", entry);
    rename.addEventListener("click", () => this.#rename(entry, title));
    return h(
      "li",
      { class: "clip", "data-clip": entry.id },
      this.#button("play", "replay", "history.play", entry, "clip-play"),
      h("p", { class: "clip-words" }, title, setMessage(h("span", { class: "clip-facts" }), "text.plain", { text: facts })),
      h("span", { class: "clip-sides" }, SIDES.map((side) => this.#side(entry, side))),
      h(
        "span",
        { class: "clip-tools" },
        star,
        rename,
        this.#button("back", "restore", "history.use", entry),
        this.#button("download", "download", "history.download", entry),
        this.#button("trash", "delete", "history.delete", entry),
      ),
    );
  }

  /** A field in the place of the title: Enter or leaving it keeps the name, Escape does not, no name is its text. */
  #rename(entry, title) {
    const field = h("input", { class: "clip-name", type: "text", dir: "auto", maxlength: MAX_NAME, autocomplete: "off", value: entry.name ?? "", placeholder: entry.request.text });
    setLabel(field, "history.name", { text: titleOf(entry) });
    this.#renaming = true;
    const end = (name) => {
      if (!this.#renaming) return; // a field that is taken away loses the focus, too
      this.#renaming = false;
      field.replaceWith(title);
      if (this.#stale) this.#draw();
      if (name !== (entry.name ?? "")) this.#emit("rename", { entry, name });
      else this.focus(entry.id, "rename");
    };
    field.addEventListener("keydown", (event) => {
      if ((event.key !== "Enter" && event.key !== "Escape") || event.isComposing) return; // which ends the composition
      event.preventDefault();
      event.stopPropagation();
      end(event.key === "Enter" ? field.value.trim() : (entry.name ?? ""));
    });
    field.addEventListener("blur", () => end(field.value.trim()));
    title.replaceWith(field);
    field.select();
    field.focus();
  }

  #side(entry, side) {
    const button = h("button", { class: "side-button", type: "button", "data-side": side, "aria-pressed": "false" }, side);
    setLabel(button, `history.compare${side}`, { text: titleOf(entry) });
    button.addEventListener("click", () => this.#emit("compare", { entry, side }));
    return button;
  }

  #button(name, event, key, entry, more = "") {
    const button = h("button", { class: `button-icon ${more}`, type: "button", "data-event": event }, icon(name));
    setLabel(button, key, { text: titleOf(entry) });
    if (event !== "rename") button.addEventListener("click", () => this.#emit(event, entry));
    return button;
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** "14:05" today, "21 Nov, 14:05" before. */
function when(at) {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  const day = today ? {} : { month: "short", day: "numeric" };
  return date.toLocaleString(locale(), { ...day, hour: "2-digit", minute: "2-digit" });
}
