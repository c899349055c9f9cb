/**
 * "Record this session": offered where the gateway lets its clients choose.
 */
export class RecordChoice extends EventTarget {
  #field;
  #box;

  /** @param {HTMLElement} field hidden where there is nothing to choose @param {HTMLInputElement} box */
  constructor(field, box) {
    super();
    this.#field = field;
    this.#box = box;
    box.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  /** @param {{record_sessions?: "off" | "ask" | "all"}} config of GET /api/config */
  offer({ record_sessions: mode }) {
    this.#field.hidden = mode !== "ask" && mode !== "all";
    this.#box.disabled = mode === "all";
    if (mode === "all") this.#box.checked = true;
  }

  /** What goes into a request. @returns {{record?: true}} */
  get fields() {
    return this.#box.checked && !this.#box.disabled && !this.#field.hidden ? { record: true } : {};
  }
}
