/**
 * Plays recordings in their rows, one at a time, and none while another tab sounds.
 *
 * Events: "change" (which one plays, or how far it is).
 */
import { fleet } from "../../shared/service/fleet.js";
import { SoundTurn } from "../../shared/hearing/tabs.js";
import { audioAddress } from "../recording-audio.js";

export class RowPlayer extends EventTarget {
  #audio = new Audio();
  #session = null;
  #turn = new SoundTurn(() => this.#audio.pause());
  #address = null;

  constructor() {
    super();
    for (const type of ["play", "pause", "ended", "timeupdate"]) this.#audio.addEventListener(type, () => this.#tell());
  }

  /** @returns {string | null} the id of the recording that is heard, or was stopped in the middle */
  get id() {
    return this.#session?.id ?? null;
  }

  get playing() {
    return !this.#audio.paused && !this.#audio.ended;
  }

  /** How much of it was heard, 0 to 1. */
  get progress() {
    return this.#session ? Math.min(1, this.#audio.currentTime / this.#session.audio_seconds) : 0;
  }

  /** Plays it, pauses it, or goes on with it. Where that fails, it is fetched anew the next time. @param {object} session @throws {ApiError} */
  async toggle(session) {
    if (session.id === this.id && this.playing) return this.#audio.pause();
    try {
      if (session.id !== this.id && !(await this.#open(session))) return;
      await this.#audio.play();
    } catch (error) {
      if (error.name === "AbortError" || session.id !== this.id) return; // a pause came first, or another one
      this.stop();
      if (error.name === "NotSupportedError") await fleet.sessionAudio(session.id); // tells why it does not come
      throw error;
    }
  }

  /** Is silent from now on, and forgets what it played. */
  stop() {
    this.#audio.pause();
    this.#release();
    this.#session = null;
    this.#tell();
  }

  /** @returns {Promise<boolean>} false when another was chosen meanwhile */
  async #open(session) {
    this.stop();
    this.#session = session;
    this.#tell();
    const address = await audioAddress(session);
    if (this.#session !== session) {
      URL.revokeObjectURL(address);
      return false;
    }
    this.#address = address;
    this.#audio.src = address;
    return true;
  }

  #release() {
    if (this.#address?.startsWith("blob:")) URL.revokeObjectURL(this.#address);
    this.#address = null;
    this.#audio.removeAttribute("src");
  }

  #tell() {
    this.#turn.note(this.playing);
    this.dispatchEvent(new Event("change"));
  }
}
