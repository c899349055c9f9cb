/**
 * The sheet with the reader's lexicon: words, how they are said, and a form that adds, changes or forgets one.
 */
import { h, icon } from "../shared/page/dom.js";
import { fleet } from "../shared/service/fleet.js";
import { setLabel, setMessage, t } from "../i18n/i18n.js";
import { openKeySheet } from "../shared/service/key-sheet.js";
import { needsKey, problemText } from "../shared/notices/problems.js";
import { UndoBar } from "../shared/notices/undo-bar.js";
import { matchingEntries, missingField } from "./entries.js";
import "./messages.js";

let sheet = null;

/** A button that opens the sheet. */
export function lexiconButton() {
  const words = h("span", { "data-i18n": "lexicon.open" });
  const open = () => (sheet ??= new LexiconSheet()).open();
  const button = h("button", { class: "button", type: "button", id: "lexicon", onclick: open }, icon("edit"), words);
  return h("div", { class: "field field-share" }, button);
}

class LexiconSheet {
  #word = h("input", { class: "input", id: "lexicon-word", maxlength: 64, autocomplete: "off", spellcheck: "false" });
  #spoken = h("input", { class: "input", id: "lexicon-spoken", maxlength: 128, autocomplete: "off", spellcheck: "false" });
  #search = h("input", { class: "input", id: "lexicon-search", type: "search", "data-i18n-label": "lexicon.search", "data-i18n-placeholder": "lexicon.search" });
  #keep = h("button", { class: "button button-primary", "data-i18n": "lexicon.add" });
  #list = h("ul", { class: "lexicon-list", id: "lexicon-entries" });
  #room = h("p", { class: "quiet" });
  #problem = h("p", { class: "notice notice-danger", role: "alert", hidden: true });
  #gone = h("div", { class: "undo", hidden: true });
  #undo = new UndoBar(this.#gone);
  #dialog;
  #entries = {};

  constructor() {
    const form = h(
      "form",
      { method: "dialog", novalidate: true },
      h("div", { class: "field-pair" }, field("lexicon.word", this.#word), field("lexicon.spoken", this.#spoken)),
      h("p", { class: "quiet", "data-i18n": "lexicon.hint" }),
      this.#problem,
      this.#keep,
    );
    form.addEventListener("submit", (event) => this.#submit(event));
    this.#search.addEventListener("input", () => this.#draw());
    const close = h("button", { class: "button", type: "button", "data-i18n": "lexicon.close", onclick: () => this.#dialog.close() });
    this.#dialog = h(
      "dialog",
      { class: "sheet lexicon-sheet", id: "lexicon-sheet", "aria-labelledby": "lexicon-title" },
      h("h2", { id: "lexicon-title", "data-i18n": "lexicon.title" }),
      h("p", { class: "quiet", "data-i18n": "lexicon.about" }),
      form,
      this.#search,
      this.#gone,
      this.#list,
      h("div", { class: "sheet-foot" }, this.#room, close),
    );
    document.body.append(this.#dialog);
  }

  async open() {
    this.#fill("", "");
    this.#search.value = "";
    this.#problem.hidden = true;
    this.#gone.hidden = true;
    this.#dialog.showModal();
    this.#word.focus();
    await this.#change(() => fleet.lexicon());
  }

  async #submit(event) {
    event.preventDefault();
    const entry = { word: this.#word.value, spoken: this.#spoken.value };
    const missing = missingField(entry);
    if (missing) {
      this.#fail(() => t(`lexicon.missing.${missing}`), missing);
      return;
    }
    if (await this.#change(() => fleet.setWord(entry.word.trim(), entry.spoken))) {
      this.#fill("", "");
      this.#word.focus();
    }
  }

  /** @param {() => Promise<object>} ask whose answer is the whole lexicon @returns whether it came */
  async #change(ask) {
    this.#keep.disabled = true;
    try {
      const { entries, max_entries: most } = await ask();
      this.#entries = entries;
      setMessage(this.#room, "lexicon.room", { count: Object.keys(entries).length, most });
      this.#problem.hidden = true;
      this.#draw();
      return true;
    } catch (error) {
      if (error.code === "unknown_word") await this.#change(() => fleet.lexicon()); // it is not shown any more either
      this.#fail(() => problemText(error), error.param);
      if (needsKey(error)) openKeySheet(error);
      return false;
    } finally {
      this.#keep.disabled = false;
    }
  }

  #draw() {
    const found = matchingEntries(this.#entries, this.#search.value);
    const none = Object.keys(this.#entries).length ? "lexicon.noMatch" : "lexicon.none";
    this.#list.replaceChildren(...found.map(([word, spoken]) => this.#row(word, spoken)));
    if (found.length === 0) this.#list.append(h("li", { class: "empty", "data-i18n": none }));
  }

  #row(word, spoken) {
    const edit = h("button", { class: "button-icon", type: "button", onclick: () => this.#fill(word, spoken) }, icon("edit"));
    const remove = h("button", { class: "button-icon", type: "button", onclick: () => this.#forget(word, spoken) }, icon("trash"));
    setLabel(edit, "lexicon.edit", { word });
    setLabel(remove, "lexicon.remove", { word });
    return h("li", {}, h("span", { class: "lexicon-word" }, word), h("span", { class: "quiet" }, spoken), edit, remove);
  }

  async #forget(word, spoken) {
    if (!(await this.#change(() => fleet.deleteWord(word)))) return;
    this.#undo.offer("lexicon.forgotten", { word }, async () => {
      await this.#change(() => fleet.setWord(word, spoken));
      this.#word.focus();
    });
  }

  #fill(word, spoken) {
    this.#word.value = word;
    this.#spoken.value = spoken;
    if (word) this.#spoken.focus();
  }

  #fail(text, param) {
    setMessage(this.#problem, "text.plain", { text });
    this.#problem.hidden = false;
    (param === "spoken" ? this.#spoken : this.#word).focus();
  }
}

function field(key, input) {
  return h("label", { class: "stacked" }, h("span", { "data-i18n": key }), input);
}
