/**
 * One block of the list: its text, which is edited in place, its voice, and the buttons that hear and open it.
 * It has few elements, for there are thousands of them; the list listens for all of them.
 */
import { h, icon, setIcon } from "../../shared/page/dom.js";
import { stateOf } from "../manuscript/blocks.js";
import { setLabel, setMessage, setTakeState } from "../words.js";
import { tint } from "../voices.js";

const EXCERPT = 60;
const CAN_PLAIN = supportsPlain();

export class BlockView {
  #block = null;
  #shown = {};
  #text = h("p", { class: "block-text", role: "textbox", "aria-multiline": "true", dir: "auto", spellcheck: "true", contenteditable: CAN_PLAIN ? "plaintext-only" : "true" });
  #select = h("input", { type: "checkbox", class: "block-select" });
  #grip = h("button", { class: "block-grip", type: "button" }, icon("grip"));
  #dot = h("i", { class: "voice-dot" });
  #voice = h("span", { class: "block-voice-name", dir: "auto" });
  #said = h("span", { class: "block-said" });
  #play = h("button", { class: "button-icon", type: "button", "data-do": "play" }, icon("play"));
  #more = h("button", { class: "button-icon", type: "button", "data-do": "more", "aria-expanded": "false" }, icon("more"));

  constructor() {
    setLabel(this.#text, "block.text");
    this.element = h(
      "li",
      { class: "block" },
      h("span", { class: "block-mark" }, this.#grip, this.#select),
      this.#text,
      h("span", { class: "block-foot" }, h("span", { class: "block-voice" }, this.#dot, this.#voice), this.#said),
      h("span", { class: "block-buttons" }, this.#play, this.#more),
    );
    this.reach(false);
  }

  get text() {
    return this.#text;
  }

  get more() {
    return this.#more;
  }

  /** Whether the Tab key stops at it: thousands of stops would be too many. */
  reach(reachable) {
    for (const element of [this.#grip, this.#select, this.#text, this.#play, this.#more]) element.tabIndex = reachable ? 0 : -1;
  }

  /** @param {object} block @param {object | undefined} kept of the service @param {{voice: string, voices: object, selected: boolean}} around */
  show(block, kept, { voice: own, voices, selected }) {
    this.#block = block;
    this.element.dataset.key = block.key;
    this.element.dataset.kind = block.kind;
    this.#select.checked = selected;
    this.element.toggleAttribute("data-selected", selected);
    if (this.#text.textContent !== block.text) this.#text.textContent = block.text;
    const voice = block.voice ?? own;
    this.#once("voice", `${voice} ${voices.name(voice)} ${block.voice}`, () => {
      tint(this.element, voice);
      this.element.toggleAttribute("data-cast", block.voice !== null);
      setMessage(this.#voice, "text.plain", { text: () => voices.name(voice) });
    });
    this.#once("name", block.text.slice(0, EXCERPT), (text) => {
      setLabel(this.#select, "block.select", { text });
      setLabel(this.#grip, "block.move", { text });
      setLabel(this.#more, "block.more", { text });
    });
    this.#showState(stateOf(block, kept), kept);
  }

  #showState(state, kept) {
    const making = kept?.takes?.find((take) => take.state === "making");
    this.element.style.setProperty("--made", making?.progress ?? 0);
    const failed = kept?.takes?.findLast((take) => take.state === "failed");
    this.#once("state", `${state} ${failed?.id} ${Boolean(kept?.take)} ${this.#block.text.slice(0, EXCERPT)}`, () => {
      this.element.dataset.state = state;
      const heard = Boolean(kept?.take);
      setIcon(this.#play, heard ? "play" : "spark");
      setLabel(this.#play, heard ? "block.play" : "block.make", { text: this.#block.text.slice(0, EXCERPT) });
      this.#play.dataset.do = heard ? "play" : "make";
      this.#play.disabled = !heard && ["silent", "queued", "making"].includes(state);
      setTakeState(this.#said, state, failed?.error);
    });
  }

  /** Says a thing only when it is another one. */
  #once(name, value, say) {
    if (this.#shown[name] === value) return;
    this.#shown[name] = value;
    say(value);
  }
}

function supportsPlain() {
  const probe = document.createElement("p");
  try {
    probe.contentEditable = "plaintext-only";
    return true;
  } catch {
    return false; // pasted text is stripped by the list
  }
}

/** How many characters of the text are before the caret; null where it is not in there. */
export function caretIn(element) {
  const selection = getSelection();
  if (!selection.rangeCount || !element.contains(selection.anchorNode)) return null;
  const range = selection.getRangeAt(0).cloneRange();
  range.setStart(element, 0);
  return range.toString().length;
}

/** Puts the caret behind so many characters. */
export function putCaret(element, at) {
  element.focus();
  const node = element.firstChild;
  if (node) getSelection().collapse(node, Math.min(at, node.length));
}
