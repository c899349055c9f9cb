/**
 * What stands beside the play button: five seconds back and forth, and the speed.
 *
 * Events: "skip" (detail: seconds), "speed" (detail: seconds of the clip in a second).
 */
import { byId, h } from "../../shared/page/dom.js";
import { decimal } from "../../i18n/format.js";

const SKIP_SECONDS = 5;
export const SPEEDS = [0.5, 0.75, 1, 1.25, 1.5, 2];

export class Transport extends EventTarget {
  #back = byId("back5");
  #forward = byId("forward5");

  constructor() {
    super();
    this.#back.addEventListener("click", () => this.#emit("skip", -SKIP_SECONDS));
    this.#forward.addEventListener("click", () => this.#emit("skip", SKIP_SECONDS));
    const speed = byId("speed");
    speed.append(...SPEEDS.map((each) => h("option", { value: each, selected: each === 1 }, `${decimal(each)}×`)));
    speed.addEventListener("change", () => this.#emit("speed", Number(speed.value)));
  }

  /** @param {boolean} there whether there is anything to skip in */
  enable(there) {
    this.#back.disabled = this.#forward.disabled = !there;
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
