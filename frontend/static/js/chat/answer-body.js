/**
 * An answer as it is read: what was thought folded away, paragraphs, and code with a button to copy it.
 *
 * It is shown again with every piece that comes; what has not changed stays, so that selections and folds do.
 */
import { copyButton } from "../shared/page/clipboard.js";
import { h, setText } from "../shared/page/dom.js";
import { blocksOf, partsOf } from "./answer-text.js";
import { setLabel, setMessage } from "./words.js";

export class AnswerBody {
  #thought = null;
  #blocks = h("div", { class: "answer-blocks" });
  element = h("div", { class: "answer" }, this.#blocks);

  /** @param {string} text @param {boolean} writing whether more may come */
  show(text, writing) {
    const { thought, said, thinking } = partsOf(text);
    if (thought) this.#showThought(thought, thinking && writing);
    blocksOf(said).forEach((block, at) => this.#showBlock(block, at));
  }

  #showThought(thought, thinking) {
    if (!this.#thought) {
      const [title, words] = [h("summary", {}), h("p", { class: "thought-words", dir: "auto" })];
      this.#thought = { title, words };
      this.element.prepend(h("details", { class: "drawer thought" }, title, words));
    }
    setMessage(this.#thought.title, thinking ? "chat.thinks" : "chat.thought");
    setText(this.#thought.words, thought);
  }

  /** What comes is appended: a block becomes longer, or another one follows. */
  #showBlock({ kind, text, language = "" }, at) {
    const there = this.#blocks.children[at];
    if (there?.dataset.kind === kind && there.dataset.language === language) setText(there.matches("p") ? there : there.querySelector("code"), text);
    else if (there) there.replaceWith(blockOf(kind, text, language));
    else this.#blocks.append(blockOf(kind, text, language));
  }
}

function blockOf(kind, text, language) {
  if (kind === "text") return h("p", { dir: "auto", "data-kind": kind, "data-language": language }, text);
  const code = h("code", {}, text);
  const head = h("div", { class: "answer-code-head" }, h("span", {}, language), copyButton(() => code.textContent, "chat.copyCode"));
  const body = setLabel(h("pre", { tabindex: 0, role: "group", dir: "ltr" }, code), "chat.code");
  return h("div", { class: "answer-code", "data-kind": kind, "data-language": language }, head, body);
}
