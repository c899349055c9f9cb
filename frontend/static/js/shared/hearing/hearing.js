/**
 * Hearing clips by buttons, one at a time on the page and among tabs.
 *
 *   const hearing = new Hearing((id) => fleet.voicePreview(id));
 *   hearing.attach(button, "ruth"); // an icon button that plays it, and stops it again
 */
import { h, setIcon } from "../page/dom.js";
import { problemText } from "../notices/problems.js";
import { SoundTurn } from "./tabs.js";

const MARGIN = 8;

export class Hearing {
  #fetch;
  #audio = new Audio();
  #button = null;
  /** Of the clip that is heard; its button may be drawn anew meanwhile. */
  #id = null;
  #url = null;
  #asked = 0;
  /** Why the last one is not heard, above all that cuts off: until the next press, then the button's title tells it. */
  #why = h("span", { class: "why", role: "alert", popover: "manual" });
  /** What its button tells otherwise. */
  #title = "";
  #turn = new SoundTurn(() => this.stop());

  /** @param {(id: string) => Promise<Blob> | Blob} fetch the audio of a clip */
  constructor(fetch) {
    this.#fetch = fetch;
    for (const over of ["ended", "error"]) this.#audio.addEventListener(over, () => this.stop());
  }

  /** @param {HTMLButtonElement} button with an icon @param {string} id of the clip */
  attach(button, id) {
    button.addEventListener("click", () => this.#toggle(button, id));
    if (id === this.#id) {
      this.#button = button;
      setIcon(button, "stop");
    }
    return button;
  }

  /** What is there no more is not heard on. @param {string[]} ids */
  keep(ids) {
    if (this.#id !== null && !ids.includes(this.#id)) this.stop();
  }

  stop() {
    this.#asked += 1;
    this.#unsay();
    this.#turn.note(false);
    if (this.#button) setIcon(this.#button, "play");
    this.#button = this.#id = null;
    this.#audio.pause();
    if (!this.#url) return;
    this.#audio.removeAttribute("src"); // what is let go of is not asked for any more
    this.#audio.load();
    URL.revokeObjectURL(this.#url);
    this.#url = null;
  }

  async #toggle(button, id) {
    const playing = id === this.#id;
    this.stop();
    if (playing) return;
    const asked = (this.#asked += 1);
    this.#button = button;
    this.#id = id;
    setIcon(button, "stop");
    button.setAttribute("aria-busy", "true");
    try {
      const blob = await this.#fetch(id);
      if (asked !== this.#asked) return;
      this.#url = URL.createObjectURL(blob);
      this.#audio.src = this.#url;
      await this.#audio.play();
      this.#turn.note(true);
    } catch (error) {
      if (asked !== this.#asked) return;
      const shown = this.#button;
      this.stop();
      setIcon(shown, "warning");
      this.#tell(shown, problemText(error));
    } finally {
      button.removeAttribute("aria-busy");
    }
  }

  #tell(button, why) {
    this.#title = button.title;
    button.title = this.#why.textContent = why;
    button.after(this.#why);
    if (this.#why.showPopover) this.#showBelow(button);
  }

  #showBelow(button) {
    const { right, bottom } = button.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    this.#why.showPopover();
    this.#why.style.top = `${Math.min(bottom + MARGIN, clientHeight - this.#why.offsetHeight - MARGIN)}px`;
    this.#why.style.right = `${Math.max(MARGIN, clientWidth - right)}px`;
    const hide = () => this.#why.matches(":popover-open") && this.#why.hidePopover();
    for (const event of ["pointerdown", "wheel"]) document.addEventListener(event, hide, { once: true, passive: true });
  }

  #unsay() {
    if (!this.#why.isConnected) return;
    this.#why.previousElementSibling.title = this.#title;
    this.#why.remove();
  }
}
