/**
 * The one big button: generate, stop, or leave the queue.
 */
import { h, heedOnce, icon } from "../../shared/page/dom.js";

const FACES = {
  idle: ["spark", "generate.idle"],
  connecting: ["stop", "generate.stop"],
  queued: ["close", "generate.leave"],
  streaming: ["stop", "generate.stop"],
};

export class GenerateButton {
  #button;

  /** @param {HTMLButtonElement} button @param {() => void} onPress */
  constructor(button, onPress) {
    this.#button = button;
    heedOnce(button);
    button.addEventListener("click", onPress);
    this.show("idle");
  }

  /** @param {"idle" | "connecting" | "queued" | "streaming"} state */
  show(state) {
    const [name, key] = FACES[state];
    if (this.#button.dataset.face === key) return;
    this.#button.dataset.face = key;
    this.#button.dataset.state = state;
    const keys = state === "idle" ? h("kbd", { "aria-hidden": "true" }, "Ctrl ↵") : null;
    this.#button.replaceChildren(icon(name), h("span", { "data-i18n": key }), ...(keys ? [keys] : []));
  }
}
