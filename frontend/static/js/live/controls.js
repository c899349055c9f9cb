/**
 * The buttons of a session. Which of them can be pressed follows from the state; their words do too.
 */
import { h, heedOnce, icon, setIcon } from "../shared/page/dom.js";
import { setMessage } from "./words.js";

const CLOSED = ["ready", "ended", "failed"];

/**
 * What the buttons are in a state: [icon, message] of the first and the pause button, and which are enabled.
 * @param {string} state of the conversation @param {string | null} [released] why: a session that was only silent needs no resume
 */
export function faces(state, released = "pause") {
  const closed = CLOSED.includes(state);
  const ending = state === "ending";
  const resting = ["pausing", "paused"].includes(state) || (state === "released" && released === "pause");
  return {
    start: closed ? ["play", "live.start"] : ending ? ["close", "live.endNow"] : ["stop", "live.stop"],
    pause: resting ? ["play", "live.resume"] : ["pause", "live.pause"],
    interrupting: ["live", "pausing", "paused"].includes(state),
    pausing: state === "live" || resting,
    flushing: !closed && !ending,
  };
}

export class Controls {
  #buttons;

  /** @param {HTMLElement} place @param {Record<"start" | "interrupt" | "pause" | "flush", () => void>} actions */
  constructor(place, { start, interrupt, pause, flush }) {
    this.#buttons = {
      start: button("start", "button button-primary", "play", start),
      interrupt: button("interrupt", "button button-stage", "interrupt", interrupt, "Esc"),
      pause: button("pause", "button button-stage", "pause", pause, "Space"),
      flush: button("flush", "button button-stage", "flush", flush, "Ctrl ↵"),
    };
    heedOnce(this.#buttons.start.element);
    setMessage(this.#buttons.interrupt.words, "live.interrupt");
    setMessage(this.#buttons.flush.words, "live.flush");
    place.append(...Object.values(this.#buttons).map(({ element }) => element));
    this.show("ready");
  }

  /** See faces(). */
  show(state, released) {
    const { start, pause, interrupting, pausing, flushing } = faces(state, released);
    this.#face("start", start);
    this.#face("pause", pause);
    this.#buttons.start.element.dataset.state = CLOSED.includes(state) ? "closed" : "open";
    this.#buttons.interrupt.element.disabled = !interrupting;
    this.#buttons.pause.element.disabled = !pausing;
    this.#buttons.flush.element.disabled = !flushing;
  }

  #face(name, [iconName, message]) {
    setIcon(this.#buttons[name].element, iconName);
    setMessage(this.#buttons[name].words, message);
  }
}

function button(id, className, iconName, onclick, key) {
  const words = h("span", {});
  const hint = key ? h("kbd", { "aria-hidden": "true" }, key) : null;
  return { words, element: h("button", { id, class: className, type: "button", onclick }, icon(iconName), words, hint) };
}
