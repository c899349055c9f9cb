/**
 * The tools of the block that is open: kind, voice, pause, pronunciations, takes, and where it stands.
 *
 * Event "do" (detail: {action, key, ...}).
 */
import { h, icon } from "../../shared/page/dom.js";
import { clock } from "../../i18n/format.js";
import { indexOf, withFields } from "../manuscript/blocks.js";
import { VoiceMenu } from "../voices.js";
import { setLabel, setMessage, setTakeState } from "../words.js";

const MOST_PAUSE_SECONDS = 10;

export class BlockTools extends EventTarget {
  #book;
  #voices;
  /** What each part was made of. @type {string[]} */
  #shown = [];
  element = h("div", { class: "block-tools" });

  constructor(manuscript, voices) {
    super();
    this.#book = manuscript;
    this.#voices = voices;
  }

  /** Shows the tools of a block; a part of them that the reader is at stays, unless what it shows changed. @param {string} key */
  show(key) {
    const block = this.#book.blocks[indexOf(this.#book.blocks, key)];
    if (!block) return;
    const takes = this.#book.kept.get(block.id);
    const parts = [
      [[block.kind, block.voice, block.pause_ms, this.#book.book.voice], () => this.#fields(block)],
      [[block.pronunciations], () => this.#said(block)],
      [[takes?.takes, takes?.take], () => this.#takes(block, takes)],
      [[], () => this.#moves(block)],
    ];
    parts.forEach(([shown, make], place) => this.#showPart(place, JSON.stringify([key, ...shown]), make));
  }

  #showPart(place, shown, make) {
    if (this.#shown[place] === shown) return;
    this.#shown[place] = shown;
    const before = this.element.children[place];
    const held = before?.contains(document.activeElement) ? document.activeElement : null;
    const part = make();
    if (before) before.replaceWith(part);
    else this.element.append(part);
    if (!held) return;
    const same = held.dataset.field && part.querySelector(`[data-field="${CSS.escape(held.dataset.field)}"]`);
    (same || part.querySelector("[data-field]:not(:disabled)"))?.focus();
  }

  #do(action, key, more = {}) {
    this.dispatchEvent(new CustomEvent("do", { detail: { action, key, ...more } }));
  }

  #set(block, fields) {
    this.#book.change(withFields(this.#book.blocks, new Set([block.key]), fields));
  }

  #fields(block) {
    const voice = new VoiceMenu(this.#voices, { "data-field": "voice", "data-i18n-label": "book.voice", described: true });
    voice.select.addEventListener("change", () => this.#set(block, { voice: voice.value }));
    voice.show(block.voice, this.#book.book.voice);
    const kind = h("select", { "data-field": "kind", onchange: ({ target }) => this.#set(block, { kind: target.value }) }, [
      h("option", { value: "paragraph", "data-i18n": "block.paragraph" }),
      h("option", { value: "chapter", "data-i18n": "block.chapter" }),
    ]);
    kind.value = block.kind;
    const pause = h("input", { type: "number", "data-field": "pause", min: 0, max: MOST_PAUSE_SECONDS, step: 0.1, value: block.pause_ms / 1000 });
    pause.addEventListener("change", () => {
      const seconds = Math.min(MOST_PAUSE_SECONDS, Math.max(0, Number(pause.value) || 0));
      this.#set(block, { pause_ms: Math.round(1000 * seconds) });
    });
    return h("div", { class: "tool-fields" }, h("div", { class: "stacked" }, h("span", { class: "label", "data-i18n": "book.voice" }), voice.element), field("block.kind", kind), field("block.pause", pause));
  }

  #said(block) {
    const entries = Object.entries(block.pronunciations);
    const word = h("input", { type: "text", maxlength: 64, dir: "auto", "data-field": "word", "data-i18n-label": "block.word", "data-i18n-placeholder": "block.word" });
    const spoken = h("input", { type: "text", maxlength: 128, dir: "auto", "data-field": "spoken", "data-i18n-label": "block.spoken", "data-i18n-placeholder": "block.spoken" });
    const form = h("form", { class: "tool-word" }, word, spoken, h("button", { class: "button", "data-i18n": "block.keep" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const missing = [word, spoken].find((input) => !input.value.trim());
      if (missing) missing.focus();
      else this.#set(block, { pronunciations: { ...block.pronunciations, [word.value.trim()]: spoken.value.trim() } });
    });
    const row = ([name, said]) => {
      const forget = h("button", { class: "button-icon", type: "button" }, icon("close"));
      setLabel(forget, "block.forget", { word: name });
      forget.addEventListener("click", () => this.#set(block, { pronunciations: Object.fromEntries(entries.filter(([one]) => one !== name)) }));
      return h("li", {}, h("b", {}, name), ` → ${said}`, forget);
    };
    const list = entries.length > 0 ? h("ul", { class: "tool-words" }, entries.map(row)) : null;
    return h("section", {}, h("h2", { class: "label", "data-i18n": "block.said" }), list, form);
  }

  #takes(block, kept) {
    const takes = kept?.takes ?? [];
    const again = h("button", { class: "button", type: "button", "data-field": "again", "data-i18n": takes.length > 0 ? "block.again" : "block.first" });
    again.addEventListener("click", () => this.#do("again", block.key));
    const list = takes.length > 0 ? h("ul", { class: "takes" }, takes.map((take) => this.#take(block, kept, take))) : h("p", { class: "quiet", "data-i18n": "block.noTakes" });
    return h("section", {}, h("h2", { class: "label", "data-i18n": "block.takes" }), list, again);
  }

  #take(block, kept, take) {
    const { id, seed, state, seconds, stale } = take;
    const ready = state === "ready";
    const button = (drawing, key, action) => {
      const made = h("button", { class: "button-icon", type: "button", "data-field": `${action} ${id}` }, icon(drawing));
      made.addEventListener("click", () => this.#do(action, block.key, { take: id }));
      return setLabel(made, key, { seed });
    };
    const choose = h("input", { type: "radio", name: `take-${block.key}`, "data-field": `choose ${id}`, disabled: !ready });
    choose.checked = kept.take === id;
    choose.addEventListener("change", () => this.#do("choose", block.key, { take: id }));
    setLabel(choose, "block.choose", { seed });
    const facts = h("span", { class: "take-facts" }, setMessage(h("span"), "block.seed", { seed }));
    if (ready) facts.append(` · ${clock(seconds)}`);
    else facts.append(" · ", setTakeState(h("span"), state, take.error));
    if (ready && stale) facts.append(" · ", h("span", { "data-i18n": "block.old" }));
    return h("li", { "data-state": state }, choose, facts, ready ? button("play", "block.hearTake", "take") : null, button("trash", "block.dropTake", "drop"));
  }

  #moves({ key }) {
    const button = (drawing, action) => {
      const made = h("button", { class: "button button-quiet", type: "button", "data-field": action }, drawing && icon(drawing), h("span", { "data-i18n": `block.${action}` }));
      made.addEventListener("click", () => this.#do(action, key));
      return made;
    };
    return h("div", { class: "tool-moves" }, button("play", "from"), button("up", "up"), button("down", "down"), button("", "split"), button("", "join"), button("plus", "add"), button("trash", "remove"));
  }
}

function field(key, input) {
  return h("label", { class: "stacked" }, h("span", { class: "label", "data-i18n": key }), input);
}
