/**
 * The list of blocks: shows what the manuscript has, edits texts in place, selects and moves.
 *
 * Enter splits a block, Backspace at its beginning joins it with the one before, arrows lead from one to the next,
 * Alt with an arrow moves it, as an arrow alone does on its grip. Events: "do" (detail: {action, key}), "selection", "open" (detail: key or null).
 */
import { indexOf, insertedAfter, joined, movedBefore, split, stepped, without } from "../manuscript/blocks.js";
import { BlockDrag } from "./block-drag.js";
import { BlockView, caretIn, putCaret } from "./block-view.js";

export class BlockList extends EventTarget {
  #list;
  #book;
  #voices;
  #views = new Map();
  #reachable = null;
  #last = null;
  #shift = false;
  /** Keys of the blocks that are selected. */
  selected = new Set();
  /** The block whose tools are open, and where the caret was in it. */
  open = null;
  caret = null;

  /** @param {HTMLElement} list @param {import("../manuscript/manuscript.js").Manuscript} manuscript @param {import("../voices.js").Voices} voices */
  constructor(list, manuscript, voices) {
    super();
    this.#list = list;
    this.#book = manuscript;
    this.#voices = voices;
    list.addEventListener("click", (event) => this.#click(event));
    list.addEventListener("input", ({ target }) => target.matches(".block-text") && manuscript.type(this.#keyOf(target), target.textContent));
    list.addEventListener("beforeinput", (event) => this.#beforeInput(event));
    list.addEventListener("paste", (event) => pastePlain(event));
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("focusin", ({ target }) => this.#reach(this.#keyOf(target)));
    list.addEventListener("focusout", (event) => this.#left(event));
    new BlockDrag(list, { begins: (key) => this.#with(key), ends: (keys, before) => manuscript.change(movedBefore(manuscript.blocks, keys, before)) });
  }

  #keyOf(element) {
    return element.closest("[data-key]")?.dataset.key ?? null;
  }

  view(key) {
    return this.#views.get(key);
  }

  /** Shows the list as it is now: rows are kept, and go where their blocks are. So does what has the focus. */
  draw() {
    const held = document.activeElement;
    const caret = this.#list.contains(held) && held.matches(".block-text") ? caretIn(held) : null;
    this.#place();
    if (!this.#list.contains(held)) return;
    if (caret !== null && (held !== document.activeElement || caret !== caretIn(held))) putCaret(held, caret);
    else if (held !== document.activeElement) held.focus();
  }

  #place() {
    const { blocks, kept } = this.#book;
    const keys = new Set(blocks.map(({ key }) => key));
    for (const [key, view] of this.#views) {
      if (keys.has(key)) continue;
      view.element.remove();
      this.#views.delete(key);
    }
    this.selected = new Set([...this.selected].filter((key) => keys.has(key)));
    let place = this.#list.firstElementChild;
    for (const block of blocks) {
      const view = this.#views.get(block.key) ?? this.#add(block.key);
      this.#show(view, block, kept);
      if (view.element === place) place = place.nextElementSibling;
      else this.#list.insertBefore(view.element, place);
    }
    if (!this.#views.has(this.#reachable)) this.#reach(blocks[0]?.key ?? null);
  }

  /** Goes to the first of some blocks, or where the keyboard was last if none of them is there. @param {Set<string>} keys */
  focus(keys) {
    const first = this.#book.blocks.find(({ key }) => keys.has(key));
    this.view(first?.key ?? this.#reachable)?.more.focus();
  }

  /** Shows what the service made meanwhile. @param {(block: object) => boolean} [changed] which blocks may be others now */
  update(changed = () => true) {
    const { blocks, kept } = this.#book;
    for (const block of blocks.filter(changed)) {
      const view = this.#views.get(block.key);
      if (view) this.#show(view, block, kept);
    }
  }

  #add(key) {
    const view = new BlockView();
    this.#views.set(key, view);
    return view;
  }

  #show(view, block, kept) {
    view.show(block, kept.get(block.id), { voice: this.#book.book.voice, voices: this.#voices, selected: this.selected.has(block.key) });
  }

  #reach(key) {
    if (key === this.#reachable) return;
    this.#views.get(this.#reachable)?.reach(false);
    this.#reachable = key;
    this.#views.get(key)?.reach(true);
  }

  // -------------------------------------------------------------------------------------------------- buttons

  #click(event) {
    const { target } = event;
    const key = this.#keyOf(target);
    if (target.matches(".block-select")) this.#select(key, target.checked, event.shiftKey);
    const action = target.closest("[data-do]")?.dataset.do;
    if (action === "more" || target.closest(".block-voice")) this.toggle(key);
    else if (action) this.#emit("do", { action, key });
  }

  /** Opens the tools of a block, or closes them. */
  toggle(key, open = this.open !== key) {
    this.view(this.open)?.more.setAttribute("aria-expanded", "false");
    this.open = open ? key : null;
    this.view(this.open)?.more.setAttribute("aria-expanded", "true");
    this.#emit("open", this.open);
  }

  #select(key, on, range) {
    const { blocks } = this.#book;
    const [from, to] = [indexOf(blocks, range && this.#last ? this.#last : key), indexOf(blocks, key)].sort((a, b) => a - b);
    for (const block of blocks.slice(Math.max(0, from), to + 1)) this.selected[on ? "add" : "delete"](block.key);
    this.#last = key;
    this.update();
    this.#emit("selection");
  }

  clearSelection() {
    this.selected = new Set();
    this.update();
    this.#emit("selection");
  }

  // --------------------------------------------------------------------------------------------------- typing

  #beforeInput(event) {
    if (!event.target.matches(".block-text")) return;
    const key = this.#keyOf(event.target);
    const at = caretIn(event.target);
    // A field of plain text has line breaks alone: with Shift it is one, without it a new block.
    if (event.inputType === "insertParagraph" || (event.inputType === "insertLineBreak" && !this.#shift)) {
      event.preventDefault();
      this.splitAt(key, at ?? event.target.textContent.length);
    } else if (event.inputType === "deleteContentBackward" && at === 0 && getSelection().isCollapsed) {
      event.preventDefault();
      this.joinAt(indexOf(this.#book.blocks, key) - 1);
    }
  }

  /** One block becomes two. @param {number} at a place of its text */
  splitAt(key, at) {
    const { blocks } = this.#book;
    const block = blocks[indexOf(blocks, key)];
    const [first, second] = split(block, at);
    this.#book.change(blocks.flatMap((one) => (one.key === key ? [first, second] : [one])));
    putCaret(this.view(second.key).text, 0);
  }

  /** A block and the next one become one. @param {number} place of the first */
  joinAt(place) {
    const { blocks } = this.#book;
    const [first, second] = [blocks[place], blocks[place + 1]];
    if (!first || !second) return;
    const { block, at } = joined(first, second);
    this.#book.change(blocks.flatMap((one) => (one === first ? [block] : one === second ? [] : [one])), { removes: true });
    putCaret(this.view(block.key).text, at);
  }

  /** Who leaves an empty block for good leaves none. */
  #left({ target, relatedTarget }) {
    const key = this.#keyOf(target);
    if (key === null || document.activeElement === target) return; // another window has the focus
    if (target.matches(".block-text")) this.caret = key === this.open ? this.caret : null;
    if (this.view(key)?.element.contains(relatedTarget)) return;
    const block = this.#book.blocks[indexOf(this.#book.blocks, key)];
    if (block && !block.text.trim() && this.#book.blocks.length > 1) this.#book.change(without(this.#book.blocks, new Set([key])), { removes: true });
  }

  #key(event) {
    const { target, key: name } = event;
    const key = this.#keyOf(target);
    this.#shift = event.shiftKey;
    if (!key || target.closest(".block-tools")) return;
    if (target.matches(".block-text")) this.caret = { key, at: caretIn(target) };
    const by = { ArrowUp: -1, ArrowDown: 1 }[name];
    if (!by) return;
    if (event.altKey || target.matches(".block-grip")) {
      event.preventDefault();
      this.step(key, by);
    } else {
      this.#walk(event, key, by);
    }
  }

  /** From the first or last line of a text, or from a button, to the neighbour. */
  #walk(event, key, by) {
    const { target } = event;
    if (target.matches(".block-text") && !atEdge(target, by)) return;
    const { blocks } = this.#book;
    const next = this.view(blocks[indexOf(blocks, key) + by]?.key);
    if (!next) return;
    event.preventDefault();
    const same = target.matches(".block-text") ? ".block-text" : target.matches(".block-select") ? ".block-select" : `[data-do="${target.dataset.do}"], [data-do="play"], [data-do="make"]`;
    next.element.querySelector(same)?.focus();
    next.element.scrollIntoView({ block: "nearest" });
  }

  // --------------------------------------------------------------------------------------------------- moving

  /** Moves a block, with those that are selected together with it. */
  step(key, by) {
    this.#book.change(stepped(this.#book.blocks, this.#with(key), by));
  }

  #with(key) {
    return this.selected.has(key) ? this.selected : new Set([key]);
  }

  /** A new, empty block behind another one. */
  addAfter(key, block) {
    this.#book.change(insertedAfter(this.#book.blocks, key, [block]));
    this.view(block.key).text.focus();
  }

  // -------------------------------------------------------------------------------------------------- hearing

  /** Lights the block that is heard. @param {string | null} key @param {{follow: boolean}} how */
  light(key, { follow }) {
    const before = this.#list.querySelector("[data-now]");
    const row = this.view(key)?.element;
    if (before === row) return;
    before?.removeAttribute("data-now");
    row?.setAttribute("data-now", "");
    if (follow) row?.scrollIntoView({ block: "center", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** Whether the caret is in the first (-1) or last (1) line. */
function atEdge(element, by) {
  const selection = getSelection();
  if (!selection.rangeCount || !element.firstChild) return true;
  const caret = selection.getRangeAt(0).getClientRects()[0];
  const box = element.getBoundingClientRect();
  if (!caret) return caretIn(element) === (by < 0 ? 0 : element.textContent.length);
  return by < 0 ? caret.top < box.top + caret.height : caret.bottom > box.bottom - caret.height;
}

function pastePlain(event) {
  if (!event.target.closest(".block-text") || event.target.closest(".block-text").contentEditable === "plaintext-only") return;
  event.preventDefault();
  document.execCommand("insertText", false, event.clipboardData.getData("text/plain"));
}

