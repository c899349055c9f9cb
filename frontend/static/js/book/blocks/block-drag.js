/**
 * Blocks are moved by their grip: with a mouse, a pen or a finger. Near an edge of the window the page scrolls.
 *
 *   new BlockDrag(list, { begins: (key) => keys, ends: (keys, before) => null });
 */
const BEGINS_PX = 4;
const EDGE_PX = 80;
const SCROLL_PX = 12;

export class BlockDrag {
  #list;
  #does;
  #grip = null;
  #keys = null;
  #from = 0;
  #y = 0;
  #before = null;
  #frame = null;

  /** @param {HTMLElement} list of rows with data-key @param {{begins: (key: string) => Set<string>, ends: (keys: Set<string>, before: string | null) => void}} does which blocks go along; where they are dropped, null: at the end */
  constructor(list, does) {
    this.#list = list;
    this.#does = does;
    list.addEventListener("pointerdown", (event) => this.#take(event));
    list.addEventListener("pointermove", (event) => this.#move(event));
    list.addEventListener("pointerup", () => this.#drop());
    list.addEventListener("pointercancel", () => this.#end());
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.#end());
  }

  #take(event) {
    const grip = event.target.closest(".block-grip");
    if (!grip || event.button !== 0) return;
    this.#grip = grip;
    this.#from = event.clientY;
    grip.setPointerCapture(event.pointerId);
  }

  #move({ clientY }) {
    if (!this.#grip) return;
    this.#y = clientY;
    if (!this.#keys) {
      if (Math.abs(clientY - this.#from) < BEGINS_PX) return;
      this.#keys = this.#does.begins(this.#grip.closest("[data-key]").dataset.key);
      this.#list.setAttribute("data-dragging", "");
      for (const row of this.#list.children) row.toggleAttribute("data-dragged", this.#keys.has(row.dataset.key));
      this.#scroll();
    }
    this.#mark();
  }

  /** The row that they would be put before, and the line that shows it. */
  #mark() {
    const { left, width } = this.#list.getBoundingClientRect();
    const row = document.elementFromPoint(left + width / 2, this.#y)?.closest("[data-key]");
    if (!row || !this.#list.contains(row)) return;
    const { top, height } = row.getBoundingClientRect();
    const upper = this.#y < top + height / 2;
    this.#before = upper ? row : row.nextElementSibling;
    this.#clear();
    (this.#before ?? row).setAttribute("data-drop", this.#before ? "before" : "after");
  }

  #clear() {
    this.#list.querySelector("[data-drop]")?.removeAttribute("data-drop");
  }

  #scroll() {
    this.#frame = requestAnimationFrame(() => {
      const by = this.#y < EDGE_PX ? -SCROLL_PX : this.#y > innerHeight - EDGE_PX ? SCROLL_PX : 0;
      if (by !== 0) {
        scrollBy({ top: by, behavior: "instant" });
        this.#mark();
      }
      this.#scroll();
    });
  }

  #drop() {
    const keys = this.#keys;
    const before = this.#before?.dataset.key ?? null;
    const moved = keys && this.#list.querySelector("[data-drop]");
    this.#end();
    if (moved) this.#does.ends(keys, before);
  }

  #end() {
    cancelAnimationFrame(this.#frame);
    this.#clear();
    this.#list.removeAttribute("data-dragging");
    for (const row of this.#list.querySelectorAll("[data-dragged]")) row.removeAttribute("data-dragged");
    this.#grip = this.#keys = this.#before = null;
  }
}
