/**
 * What the tabs of this browser tell each other: one of them sounds at a time, and they have one history.
 *
 *   tabs.tell("clips");                                          // the other tabs get the event "clips"
 *   const turn = new SoundTurn(() => player.pause());            // another tab begins to sound
 *   turn.note(playing);                                          // whether this one does
 */
const CHANNEL = "voxfleet";

export class Tabs extends EventTarget {
  #channel = null;

  constructor() {
    super();
    if (!globalThis.BroadcastChannel) return;
    this.#channel = new BroadcastChannel(CHANNEL);
    this.#channel.onmessage = ({ data }) => this.dispatchEvent(new Event(data));
    this.#channel.unref?.(); // in Node it would keep the process alive
  }

  /** @param {"clips" | "sound"} news */
  tell(news) {
    this.#channel?.postMessage(news);
  }
}

export const tabs = new Tabs();

// What sounds would be heard in what is recorded, so all tabs are silent, this one too.
globalThis.addEventListener?.("microphone", () => {
  tabs.tell("sound");
  tabs.dispatchEvent(new Event("sound"));
});

export class SoundTurn {
  #tabs;
  #playing = false;

  /** @param {() => void} silence called when another tab begins to sound @param {Tabs} among */
  constructor(silence, among = tabs) {
    this.#tabs = among;
    among.addEventListener("sound", silence);
  }

  /** @param {boolean} playing whether it is heard now */
  note(playing) {
    if (playing && !this.#playing) this.#tabs.tell("sound");
    this.#playing = playing;
  }
}
