/**
 * Where the sound comes out: a choice of devices, where the browser offers one.
 */
import { Player } from "../audio/player.js";
import { h } from "../shared/page/dom.js";
import { Remembered } from "../shared/page/storage.js";

export class OutputChoice extends EventTarget {
  #field;
  #select;
  #memory = new Remembered("output");

  /** @param {HTMLElement} field hidden while there is nothing to choose @param {HTMLSelectElement} select */
  constructor(field, select) {
    super();
    this.#field = field;
    this.#select = select;
    select.addEventListener("change", () => {
      this.#memory.save({ device: select.value });
      this.dispatchEvent(new CustomEvent("change", { detail: select.value }));
    });
  }

  /** Id of the device, "" for the system's own. */
  get device() {
    return this.#select.value;
  }

  /** Lists the devices; browsers name them once the page was allowed to record. */
  async load() {
    const media = navigator.mediaDevices;
    if (!Player.canChooseOutput || !media?.enumerateDevices) return;
    await this.#list();
    media.addEventListener("devicechange", () => this.#list());
    window.addEventListener("microphone", () => this.#list());
  }

  async #list() {
    const devices = await navigator.mediaDevices.enumerateDevices();
    const outputs = devices.filter(({ kind, deviceId, label }) => kind === "audiooutput" && label && deviceId !== "default");
    const own = h("option", { value: "", "data-i18n": "stage.outputDefault" });
    this.#select.replaceChildren(own, ...outputs.map(({ deviceId, label }) => h("option", { value: deviceId }, label)));
    const { device } = this.#memory.load();
    this.#select.value = outputs.some(({ deviceId }) => deviceId === device) ? device : "";
    this.#field.hidden = outputs.length === 0;
  }
}
