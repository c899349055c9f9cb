/**
 * The box that messages are written in, and the one button beside it: send, or stop.
 *
 * Events: "send" (detail: {text, rewords}: whether it is in the place of the last question), "stop", "edited", and "recall" (the
 * last question is wanted in the box), and "due" (the box is to go once somebody answers, or no more).
 */
import { h, heedOnce, icon } from "../shared/page/dom.js";

const FACES = {
  idle: ["up", "chat.send"],
  busy: ["stop", "chat.stop"],
};

export class Composer extends EventTarget {
  #area;
  #button;
  #rewording;
  #busy = false;
  #open = null;
  #due = false;
  /** What was in the box before a question came into it; null while none is there. */
  #before = null;

  /** @param {Record<"form" | "area" | "button" | "rewording" | "leave", HTMLElement>} elements @param {string} [text] */
  constructor({ form, area, button, rewording, leave }, text = "") {
    super();
    this.#area = area;
    this.#button = button;
    this.#rewording = rewording;
    area.value = text;
    area.addEventListener("input", () => this.#edited());
    area.addEventListener("keydown", (event) => this.#key(event));
    heedOnce(button);
    leave.addEventListener("click", () => this.leave());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#busy) this.dispatchEvent(new Event("stop"));
      else this.send();
    });
    this.#show();
  }

  /** What is remembered: of what is written, not of what is changed. */
  get text() {
    return this.#before ?? this.#area.value;
  }

  /** Writes a text into the box. */
  set text(text) {
    this.#area.value = text;
    this.#edited();
    this.#area.focus();
  }

  /** @param {boolean | null} open whether somebody answers; null: not known yet @param {boolean} busy whether there is something to stop */
  set(open, busy) {
    [this.#open, this.#busy] = [open, busy];
    this.#show();
    if (open === null || !this.#due) return;
    this.#wait(false);
    this.send();
  }

  /** Whether what is in the box goes as soon as it is known that somebody answers. */
  get due() {
    return this.#due;
  }

  /** Whether the last question is being put in other words. */
  get rewords() {
    return this.#before !== null;
  }

  /** @param {string} question to put in other words */
  reword(question) {
    this.#before ??= this.#area.value;
    this.#rewording.hidden = false;
    this.text = question;
  }

  /** The box is as it was before, and stays. @returns {boolean} whether a question was in it */
  leave() {
    this.#wait(false);
    if (!this.rewords) return false;
    this.#put(this.#before);
    this.#area.focus();
    return true;
  }

  /** What is in the box; with nothing in it, that is where one goes on. */
  send() {
    const text = this.#area.value.trim();
    if (text === "") this.#area.focus();
    else if (this.#open === null) this.#wait(true);
    if (!this.#open || text === "") return;
    const { rewords } = this;
    this.#put(rewords ? this.#before : "");
    this.dispatchEvent(new CustomEvent("send", { detail: { text, rewords } }));
  }

  focus() {
    this.#area.focus();
  }

  #put(text) {
    this.#before = null;
    this.#rewording.hidden = true;
    this.#area.value = text;
    this.#edited();
  }

  #edited() {
    this.#wait(false);
    this.dispatchEvent(new Event("edited"));
  }

  #wait(due) {
    if (!due && !this.#due) return;
    this.#due = due;
    this.dispatchEvent(new Event("due"));
  }

  /** Enter sends, with Shift it begins a line; the arrow up has the last question again. */
  #key(event) {
    if (event.isComposing || event.altKey) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    } else if (event.key === "ArrowUp" && this.#area.value === "") {
      event.preventDefault();
      this.dispatchEvent(new Event("recall"));
    }
  }

  #show() {
    const face = this.#busy ? "busy" : "idle";
    this.#button.disabled = !this.#busy && this.#open === false;
    if (this.#button.dataset.state === face) return;
    const [name, key] = FACES[face];
    this.#button.dataset.state = face;
    this.#button.replaceChildren(icon(name), h("span", { "data-i18n": key }));
  }
}
