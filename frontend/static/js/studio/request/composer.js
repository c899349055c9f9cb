/**
 * The text being written: counter, sample texts, and the draft kept over a reload. Who comes for the first time
 * finds the first sample, so that one click speaks.
 */
import { h, setText } from "../../shared/page/dom.js";
import { duration, integer } from "../../i18n/format.js";
import { clearMessage, setMessage, t } from "../../i18n/i18n.js";
import { characterCount, estimateSeconds } from "./estimate.js";
import { SAMPLES } from "./samples.js";

const NEARLY_FULL = 0.9;

/** How large the letters are, by the number of characters up to which they are so. */
const SIZES = [
  ["large", 180],
  ["middle", 420],
  ["small", Infinity],
];

export class Composer extends EventTarget {
  #area;
  #counter;
  #complaint;
  #limit = Infinity;

  constructor({ area, counter, samples, problem }, draft = SAMPLES[0].text) {
    super();
    this.#area = area;
    this.#counter = counter;
    this.#complaint = problem;
    area.value = draft;
    area.addEventListener("input", () => this.#changed());
    samples.append(...SAMPLES.map((sample) => this.#sampleButton(sample)));
    this.#show();
  }

  get text() {
    return this.#area.value.trim();
  }

  /** As typing would do it, so that the browser's undo brings back what was there. */
  set text(value) {
    this.#area.focus();
    this.#area.select();
    if (this.#area.value !== value && !document.execCommand("insertText", false, value)) this.#area.value = value;
    this.#area.setSelectionRange(value.length, value.length);
    this.#changed();
  }

  /** Why the text cannot be spoken as it is, or null. @returns {(() => string) | null} */
  get problem() {
    if (this.text === "") return () => t("text.empty");
    const over = characterCount(this.text) - this.#limit;
    return over > 0 ? () => t("text.tooLong", { count: integer(over) }) : null;
  }

  /** @param {number} characters the server's limit */
  setLimit(characters) {
    this.#limit = characters;
    this.#show();
  }

  focus() {
    this.#area.focus();
  }

  /** Says at the text why it cannot be spoken, and takes the writer there. @param {() => string} problem */
  complain(problem) {
    setMessage(this.#complaint, "text.plain", { text: problem });
    this.#area.setAttribute("aria-invalid", "true");
    this.#area.focus();
    this.#complaint.scrollIntoView({ block: "nearest" });
  }

  #sampleButton({ name, text }) {
    const write = () => (this.text = text);
    return h("button", { class: "chip", type: "button", onclick: write, "data-i18n": `text.sample.${name}` });
  }

  #changed() {
    clearMessage(this.#complaint);
    setText(this.#complaint, "");
    this.#area.removeAttribute("aria-invalid");
    this.#show();
    this.dispatchEvent(new Event("change"));
  }

  #show() {
    const count = characterCount(this.text);
    this.#area.dataset.size = SIZES.find(([, most]) => count <= most)[0];
    const about = duration(Math.ceil(estimateSeconds(this.text)));
    const key = count > this.#limit * NEARLY_FULL ? "text.counterOf" : "text.counter";
    setMessage(this.#counter, key, { count: integer(count), limit: integer(this.#limit), seconds: about });
    this.#counter.classList.toggle("over", count > this.#limit);
  }
}
