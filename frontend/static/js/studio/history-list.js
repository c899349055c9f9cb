/**
 * The clips of this browser as a list: hear again, compare, take the settings back, download, delete.
 *
 * Events: "replay", "restore", "download", "compare" (detail: {entry, side}), "delete" and "clear" (detail: the entry).
 */
import { byId, h, icon } from "../shared/dom.js";
import { clock } from "../shared/format.js";
import { locale, setLabel, setMessage } from "../shared/i18n.js";
import { SIDES } from "./compare.js";

export class HistoryList extends EventTarget {
  #list = byId("history-list");
  #rows = new Map();
  #entries = new Map();

  constructor() {
    super();
    byId("history-clear").addEventListener("click", () => this.#emit("clear"));
  }

  /** @param {object[]} entries of the ClipStore */
  show(entries) {
    this.#entries = new Map(entries.map((entry) => [entry.id, entry]));
    this.#rows = new Map(entries.map((entry) => [entry.id, this.#row(entry)]));
    this.#list.replaceChildren(...this.#rows.values());
    byId("history-empty").hidden = entries.length > 0;
    byId("history-clear").hidden = entries.length < 2;
    setMessage(byId("history-count"), "text.plain", { text: entries.length || "" });
  }

  /** A kept clip by its id, if it is still there. */
  entry(id) {
    return this.#entries.get(id) ?? null;
  }

  /** Marks what is on the stage, and what is compared. @param {{shown?: number, A?: number, B?: number}} ids */
  mark({ shown, ...sides }) {
    for (const [id, row] of this.#rows) {
      row.toggleAttribute("data-shown", id === shown);
      for (const side of SIDES) {
        row.querySelector(`[data-side="${side}"]`).setAttribute("aria-pressed", String(sides[side] === id));
      }
    }
  }

  #row(entry) {
    const { request, figures, at } = entry;
    const facts = () => [figures.voice_name ?? request.voice, clock(figures.audio_seconds), when(at)].join(" · ");
    return h(
      "li",
      { class: "clip", "data-clip": entry.id },
      this.#button("play", "replay", "history.play", entry, "clip-play"),
      h(
        "p",
        { class: "clip-words" },
        h("span", { class: "clip-text", dir: "auto" }, request.text),
        setMessage(h("span", { class: "clip-facts" }), "text.plain", { text: facts }),
      ),
      h("span", { class: "clip-sides" }, SIDES.map((side) => this.#side(entry, side))),
      h(
        "span",
        { class: "clip-tools" },
        this.#button("back", "restore", "history.use", entry),
        this.#button("download", "download", "history.download", entry),
        this.#button("trash", "delete", "history.delete", entry),
      ),
    );
  }

  #side(entry, side) {
    const button = h("button", { class: "side-button", type: "button", "data-side": side, "aria-pressed": "false" }, side);
    setLabel(button, `history.compare${side}`, { text: entry.request.text });
    button.addEventListener("click", () => this.#emit("compare", { entry, side }));
    return button;
  }

  #button(name, event, key, entry, more = "") {
    const button = h("button", { class: `button-icon ${more}`, type: "button" }, icon(name));
    setLabel(button, key, { text: entry.request.text });
    button.addEventListener("click", () => this.#emit(event, entry));
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
