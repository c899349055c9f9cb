/**
 * The turns of a conversation, one below the other, with what can be done about the last of them.
 *
 * Events: "again" (the last question once more), "edit" (in other words).
 */
import { copyButton } from "../shared/page/clipboard.js";
import { h, icon } from "../shared/page/dom.js";
import { integer } from "../i18n/format.js";
import { AnswerBody } from "./answer-body.js";
import { partsOf } from "./answer-text.js";
import { setMessage } from "./words.js";

/** So near its end a list is followed. */
const NEAR_PIXELS = 80;
/** Slower, or shorter, says nothing of how fast it was. */
const LEAST_SECONDS = 0.2;

export class TurnList extends EventTarget {
  #frame;
  #list;
  /** @type {Map<object, {element: HTMLElement, show: (last: boolean, more?: HTMLElement[], unanswered?: boolean) => void}>} by turn */
  #views = new Map();
  #drawing = null;

  /** @param {HTMLElement} frame that scrolls @param {HTMLElement} list */
  constructor(frame, list) {
    super();
    this.#frame = frame;
    this.#list = list;
  }

  /** @param {object[]} turns @param {(turn: object) => HTMLElement[]} more buttons of an answer */
  show(turns, more = () => []) {
    const asked = turns.findLast(({ role }) => role === "user");
    const follows = turns.length > this.#views.size || (turns.length > 0 && this.#atEnd);
    this.#list.hidden = turns.length === 0;
    this.#views = new Map(turns.map((turn) => [turn, this.#views.get(turn) ?? this.#view(turn)]));
    for (const [turn, view] of this.#views) view.show(turn === asked || turn === turns.at(-1), more(turn), turn === turns.at(-1));
    const elements = [...this.#views.values()].map(({ element }) => element);
    for (const gone of [...this.#list.children].filter((child) => !elements.includes(child))) gone.remove();
    elements.forEach((element, index) => element.isConnected || this.#list.insertBefore(element, this.#list.children[index] ?? null));
    if (follows) this.toEnd();
  }

  /** Scrolls to what is newest. */
  toEnd() {
    this.#frame.scrollTop = this.#frame.scrollHeight;
  }

  /** The last turn has become longer. @param {object} turn */
  grown(turn) {
    this.#drawing ??= requestAnimationFrame(() => {
      this.#drawing = null;
      const follows = this.#atEnd;
      this.#views.get(turn)?.show(true);
      if (follows) this.toEnd();
    });
  }

  /** Whether its end is in sight. */
  get #atEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#frame;
    return scrollHeight - scrollTop - clientHeight < NEAR_PIXELS;
  }

  #view(turn) {
    return turn.role === "user" ? this.#question(turn) : this.#answer(turn);
  }

  #question({ text }) {
    const edit = this.#button("edit", "edit");
    const again = this.#button("restart", "again");
    const tools = h("div", { class: "turn-tools" }, again, edit);
    const words = h("p", { class: "question", dir: "auto" }, text);
    const element = h("li", { class: "turn", "data-role": "user" }, h("h2", { class: "visually-hidden", "data-i18n": "chat.you" }), words, tools);
    const show = (last, more, unanswered) => {
      tools.hidden = !last;
      again.hidden = !unanswered;
    };
    return { element, show };
  }

  #answer(turn) {
    const body = new AnswerBody();
    const who = h("h2", { class: "turn-who label" });
    const note = h("p", { class: "turn-note" });
    const again = this.#button("restart", "again");
    const copy = copyButton(() => partsOf(turn.text).said, "chat.copyAnswer");
    const own = h("span", { class: "turn-more" });
    const tools = h("div", { class: "turn-tools" }, copy, again, own, note);
    const element = h("li", { class: "turn", "data-role": "assistant" }, who, body.element, tools);
    const show = (last, more = []) => {
      const writing = turn.state === "writing";
      setMessage(who, turn.model ? "text.plain" : "chat.answer", { text: turn.model });
      body.show(turn.text, writing);
      element.dataset.state = turn.state;
      tools.hidden = writing;
      again.hidden = !last;
      own.replaceChildren(...more);
      noteOf(note, turn);
    };
    return { element, show };
  }

  /** @param {string} name of its icon @param {"again" | "edit"} type what it asks for */
  #button(name, type) {
    const button = h("button", { class: "button button-quiet", type: "button" }, icon(name), h("span", { "data-i18n": `chat.${type}` }));
    button.addEventListener("click", () => this.dispatchEvent(new Event(type)));
    return button;
  }
}

/** How it ended, and how fast it came. */
function noteOf(note, { state, tokens, seconds }) {
  if (state === "complete") {
    const rate = tokens > 1 && seconds >= LEAST_SECONDS ? tokens / seconds : null;
    setMessage(note, rate ? "chat.rate" : "chat.tokens", { count: tokens, text: () => integer(tokens), rate: () => integer(rate) });
  } else if (state !== "writing") setMessage(note, `chat.note.${state}`);
}
