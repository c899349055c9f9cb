/**
 * The banner of a request that waits for a worker: its place in line, a countdown, a chime when its turn has come, a
 * way out.
 */
import { Chime } from "./chime.js";
import { Countdown } from "./countdown.js";
import { h, icon, setIcon } from "../page/dom.js";
import { setMessage } from "../../i18n/i18n.js";

const TICK_MS = 250;
const now = () => performance.now() / 1000;

export class QueueBanner {
  #countdown = new Countdown();
  #chime = new Chime();
  #timer = null;
  #home;
  #place = h("strong", { class: "queue-place", role: "status" }); // said aloud; the seconds would be too much
  #wait = h("span", { class: "queue-wait" });
  #bell = h("button", { class: "button-icon", type: "button", "data-i18n-label": "queue.chime" }, icon("bell"));

  /** @param {HTMLElement} element shown while queued @param {HTMLElement} home has the focus after it @param {() => void} onLeave */
  constructor(element, home, onLeave) {
    this.element = element;
    this.#home = home;
    this.#bell.addEventListener("click", () => this.#switchChime());
    element.append(
      h("span", { class: "queue-lamp", "aria-hidden": "true" }),
      h("p", { class: "queue-text" }, this.#place, this.#wait),
      this.#bell,
      h(
        "button",
        { class: "button button-quiet queue-leave", type: "button", onclick: onLeave },
        icon("close"),
        h("span", { "data-i18n": "queue.leave" }),
      ),
    );
    this.#showChime();
  }

  /** @param {{position: number, eta_seconds: number | null}} news */
  show({ position, eta_seconds: etaSeconds = null }) {
    this.#countdown.update(etaSeconds, now());
    setMessage(this.#place, position === 1 ? "queue.next" : "queue.place", { position });
    this.element.hidden = false;
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
    this.#tick();
  }

  /** @param {{turn?: boolean}} [why] whether a worker has taken it: then it chimes */
  hide({ turn = false } = {}) {
    if (turn && !this.element.hidden) this.#chime.ring();
    const focused = this.element.contains(document.activeElement);
    this.element.hidden = true;
    if (focused) this.#home.focus({ preventScroll: true });
    clearInterval(this.#timer);
    this.#timer = null;
    this.#countdown = new Countdown();
  }

  #tick() {
    const seconds = this.#countdown.remaining(now());
    if (seconds === null) setMessage(this.#wait, "queue.unknown");
    else if (seconds > 0) setMessage(this.#wait, "queue.about", { seconds });
    else if (seconds === 0) setMessage(this.#wait, "queue.now");
    else setMessage(this.#wait, "queue.overtime", { seconds: -seconds });
    this.element.dataset.seconds = seconds ?? "";
  }

  #switchChime() {
    this.#chime.on = !this.#chime.on;
    this.#showChime();
    this.#chime.ring(); // what it sounds like
  }

  #showChime() {
    setIcon(this.#bell, this.#chime.on ? "bell" : "bell-off");
    this.#bell.setAttribute("aria-pressed", String(this.#chime.on));
  }
}
