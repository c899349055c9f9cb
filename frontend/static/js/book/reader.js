/**
 * Reads a book aloud: the chosen takes one after the other, with their pauses. The next one is fetched while one plays.
 *
 * Events: "move" (detail: {key, playing}), "nothing" (there is no audio from there on), "problem" (detail: the error).
 */
import { SoundTurn } from "../shared/tabs.js";
import { indexOf } from "./blocks.js";

const KEPT_CLIPS = 6;

export class Reader extends EventTarget {
  #book;
  #books;
  #audio = new Audio();
  #clips = new Map();
  #pause = null;
  #asked = 0;
  #single = false;
  #loaded = null;
  #turn = new SoundTurn(() => this.pause());
  /** The block that is heard, and the take of it. @type {{block: string, take: string} | null} */
  key = null;
  clip = null;

  constructor(manuscript, books) {
    super();
    this.#book = manuscript;
    this.#books = books;
    this.#audio.addEventListener("ended", () => this.#ended());
    for (const type of ["play", "pause"]) this.#audio.addEventListener(type, () => this.#tell());
  }

  get playing() {
    return this.#pause !== null || (!this.#audio.paused && !this.#audio.ended);
  }

  /** Of the take that is heard; 0 while it is on its way. */
  get seconds() {
    return this.#loaded === this.clip?.take ? this.#audio.currentTime : 0;
  }

  /** @param {number} seconds of the take that is heard */
  seek(seconds) {
    if (this.#loaded !== this.clip?.take) return;
    this.#audio.currentTime = seconds;
    if (!this.playing) this.#audio.play().catch(() => null); // a pause came first
  }

  set speed(speed) {
    this.#audio.defaultPlaybackRate = this.#audio.playbackRate = speed;
  }

  /** @param {string} key of a block @param {{single?: boolean, take?: string}} [how] that block alone; a take of it */
  async play(key, { single = false, take } = {}) {
    const asked = this.#halt();
    this.#single = single;
    const clip = this.#clipAt(key, take);
    if (!clip) {
      if (!single && this.#fromHere(key, 1)) return;
      this.key = this.clip = null;
      this.#tell();
      this.dispatchEvent(new Event("nothing"));
      return;
    }
    this.key = key;
    this.clip = clip;
    this.#tell();
    try {
      const url = await this.#fetched(clip);
      if (asked !== this.#asked) return;
      const speed = this.#audio.defaultPlaybackRate;
      this.#audio.src = url;
      this.#loaded = clip.take;
      this.#audio.playbackRate = speed;
      await this.#audio.play();
      const next = !single && this.#neighbour(key, 1);
      if (next) this.#fetched(this.#clipAt(next)).catch(() => null); // asked for again when it is due
    } catch (error) {
      if (asked !== this.#asked || error.name === "AbortError") return;
      this.stop();
      this.dispatchEvent(new CustomEvent("problem", { detail: error }));
    }
  }

  pause() {
    if (this.#pause !== null) this.#halt();
    this.#audio.pause();
    this.#tell();
  }

  resume() {
    if (this.#audio.ended || !this.#audio.src) this.#fromHere(this.key, 1);
    else this.#audio.play().catch(() => null); // a pause came first
  }

  /** To the next (1) or previous (-1) block with audio. @returns {boolean} whether there is one */
  skip(by) {
    return this.#fromHere(this.key, by);
  }

  stop() {
    this.#halt();
    this.key = this.clip = null;
    this.#tell();
  }

  #halt() {
    clearTimeout(this.#pause);
    this.#pause = null;
    this.#audio.pause();
    return (this.#asked += 1);
  }

  #fromHere(key, by) {
    const next = this.#neighbour(key, by);
    if (next) this.play(next);
    return Boolean(next);
  }

  #neighbour(key, by) {
    const { blocks } = this.#book;
    for (let place = indexOf(blocks, key) + by; place >= 0 && place < blocks.length; place += by) {
      if (this.#clipAt(blocks[place].key)) return blocks[place].key;
    }
    return null;
  }

  #clipAt(key, take) {
    const block = this.#book.blocks[indexOf(this.#book.blocks, key)];
    const chosen = take ?? this.#book.kept.get(block?.id)?.take;
    return chosen ? { block: block.id, take: chosen } : null;
  }

  /** @returns {Promise<string>} the address of a clip's audio */
  #fetched({ block, take }) {
    if (!this.#clips.has(take)) {
      const asked = this.#books.takeAudio(this.#book.id, block, take).then((blob) => URL.createObjectURL(blob));
      asked.catch(() => this.#clips.delete(take));
      this.#clips.set(take, asked);
    }
    for (const [old, url] of [...this.#clips].slice(0, -KEPT_CLIPS)) {
      this.#clips.delete(old);
      url.then(URL.revokeObjectURL, () => null); // what never came needs no letting go
    }
    return this.#clips.get(take);
  }

  #ended() {
    if (this.#single || !this.#neighbour(this.key, 1)) {
      this.#tell();
      return;
    }
    const block = this.#book.blocks[indexOf(this.#book.blocks, this.key)];
    this.#pause = setTimeout(() => {
      this.#pause = null;
      this.#fromHere(this.key, 1);
    }, (block?.pause_ms ?? 0) / this.#audio.playbackRate);
  }

  #tell() {
    this.#turn.note(this.playing);
    this.dispatchEvent(new CustomEvent("move", { detail: { key: this.key, playing: this.playing } }));
  }
}
