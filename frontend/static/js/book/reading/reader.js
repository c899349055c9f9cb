/**
 * Reads a book aloud: the chosen takes one after the other, with their pauses. The next one is fetched while one plays.
 * A block that is being made is waited for.
 *
 * Events: "move" (detail: {key, playing, waiting}), "problem" (detail: the error).
 */
import { SoundTurn } from "../../shared/hearing/tabs.js";
import { indexOf, isPending } from "../manuscript/blocks.js";

const KEPT_CLIPS = 6;

export class Reader extends EventTarget {
  #book;
  #books;
  #audio;
  #clips = new Map();
  #pause = null;
  #asked = 0;
  #single = false;
  #going = false;
  #sounding = false;
  #waiting = false;
  #loaded = null;
  #turn = new SoundTurn(() => this.pause());
  /** The block that is heard or waited for, and the take of it. @type {{block: string, take: string} | null} */
  key = null;
  clip = null;

  /** @param {import("../manuscript/manuscript.js").Manuscript} manuscript @param {object} books of a client @param {HTMLAudioElement} audio */
  constructor(manuscript, books, audio = new Audio()) {
    super();
    this.#book = manuscript;
    this.#books = books;
    this.#audio = audio;
    audio.addEventListener("ended", () => this.#ended());
    for (const type of ["play", "pause"]) audio.addEventListener(type, () => this.#switched());
    for (const type of ["kept", "blocks"]) manuscript.addEventListener(type, () => this.#arrived());
  }

  /** Whether it goes on by itself: in a pause between two blocks, and while one is made, too. */
  get playing() {
    return this.#going;
  }

  /** Of the take that is heard; 0 while it is on its way. */
  get seconds() {
    return this.#loaded === this.clip?.take ? this.#audio.currentTime : 0;
  }

  /** @param {number} seconds of the take that is heard */
  seek(seconds) {
    if (!this.clip || this.#loaded !== this.clip.take) return;
    this.#stay();
    this.#audio.currentTime = seconds;
    this.#sound();
  }

  set speed(speed) {
    this.#audio.defaultPlaybackRate = this.#audio.playbackRate = speed;
  }

  /** @param {string} key of a block @param {{single?: boolean, take?: string}} [how] that block alone; a take of it */
  async play(key, { single = false, take } = {}) {
    const asked = this.#halt();
    const clip = this.#clipAt(key, take);
    if (!clip && !this.#pendingAt(key)) {
      if (single || !this.#fromHere(key, 1)) this.stop();
      return;
    }
    this.#single = single;
    this.#going = true;
    this.#waiting = !clip;
    this.key = key;
    this.clip = clip;
    this.#tell();
    if (clip) await this.#load(clip, asked);
  }

  async #load(clip, asked) {
    try {
      const url = await this.#fetched(clip);
      if (asked !== this.#asked) return;
      const speed = this.#audio.defaultPlaybackRate;
      this.#audio.src = url;
      this.#loaded = clip.take;
      this.#audio.playbackRate = speed;
      if (!this.#going) return; // paused while it came
      await this.#audio.play();
      this.#sounding = asked === this.#asked;
      const next = !this.#single && this.#clipAt(this.#neighbour(this.key, 1));
      if (next) this.#fetched(next).catch(() => null); // asked for again when it is due
    } catch (error) {
      if (asked !== this.#asked || error.name === "AbortError") return;
      this.stop();
      this.dispatchEvent(new CustomEvent("problem", { detail: error }));
    }
  }

  pause() {
    if (this.#pause !== null) this.#halt();
    this.#going = this.#sounding = false;
    this.#audio.pause();
    this.#tell();
  }

  /** From where it was paused; from the next block where one was heard to its end. */
  resume() {
    if (this.#waiting || this.#loaded !== this.clip?.take) this.play(this.key, { single: this.#single, take: this.clip?.take });
    else if (this.#audio.ended) this.#fromHere(this.key, 1) || this.play(this.key);
    else this.#sound();
  }

  /** Whether there is something to hear from a block on, or will be. @param {string} key */
  reaches(key) {
    return Boolean(this.#clipAt(key)) || this.#pendingAt(key) || this.#neighbour(key, 1) !== null;
  }

  /** To the next (1) or previous (-1) block with audio. @returns {boolean} whether there is one */
  skip(by) {
    return this.#fromHere(this.key, by);
  }

  stop() {
    this.#halt();
    this.#going = this.#waiting = false;
    this.key = this.clip = null;
    this.#tell();
  }

  /** What plays, or is due, does so no more. @returns {number} of what is asked for next */
  #halt() {
    this.#stay();
    this.#sounding = false;
    this.#audio.pause();
    return (this.#asked += 1);
  }

  #stay() {
    clearTimeout(this.#pause);
    this.#pause = null;
  }

  #sound() {
    this.#going = this.#sounding = true;
    this.#audio.play().catch(() => null); // a pause came first
    this.#tell();
  }

  /** The browser has keys of its own that pause and go on. */
  #switched() {
    const { paused, ended } = this.#audio;
    if (ended || (paused && !this.#sounding) || paused !== this.#going) return;
    this.#going = this.#sounding = !paused;
    this.#tell();
  }

  #fromHere(key, by) {
    const next = this.#neighbour(key, by);
    if (next) this.play(next);
    return Boolean(next);
  }

  #neighbour(key, by) {
    const { blocks } = this.#book;
    for (let place = indexOf(blocks, key) + by; place >= 0 && place < blocks.length; place += by) {
      const { key: other } = blocks[place];
      if (this.#clipAt(other) || this.#pendingAt(other)) return other;
    }
    return null;
  }

  #clipAt(key, take) {
    const block = this.#book.blocks[indexOf(this.#book.blocks, key)];
    const chosen = take ?? this.#book.kept.get(block?.id)?.take;
    return chosen ? { block: block.id, take: chosen } : null;
  }

  #pendingAt(key) {
    const block = this.#book.blocks[indexOf(this.#book.blocks, key)];
    return Boolean(block) && isPending(block, this.#book.kept.get(block.id));
  }

  /** Something was made: perhaps what is waited for, or that failed. */
  #arrived() {
    if (this.#waiting && this.#going && !(this.#pendingAt(this.key) && !this.#clipAt(this.key))) this.play(this.key, { single: this.#single });
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
    this.#sounding = false;
    if (this.#single || !this.#neighbour(this.key, 1)) {
      this.#going = false;
    } else {
      const block = this.#book.blocks[indexOf(this.#book.blocks, this.key)];
      this.#pause = setTimeout(() => {
        this.#pause = null;
        this.#fromHere(this.key, 1) || this.stop();
      }, (block?.pause_ms ?? 0) / this.#audio.playbackRate);
    }
    this.#tell();
  }

  #tell() {
    this.#turn.note(this.#going);
    this.dispatchEvent(new CustomEvent("move", { detail: { key: this.key, playing: this.#going, waiting: this.#waiting } }));
  }
}
