/**
 * The figures of a session: first audio, buffered ahead, gaps, wait in the queue, utterances.
 */
import { h, setText } from "../shared/page/dom.js";
import { latency } from "../i18n/format.js";

const NAMES = ["first", "ahead", "underruns", "wait", "utterances"];

export class Tiles {
  #values = Object.fromEntries(NAMES.map((name) => [name, h("dd", { id: `tile-${name}` }, "–")]));

  /** @param {HTMLElement} list a dl */
  constructor(list) {
    list.append(...NAMES.map((name) => h("div", { class: "tile" }, h("dt", { "data-i18n": `live.tile.${name}` }), this.#values[name])));
  }

  /** @param {import("./conversation.js").Conversation} conversation */
  show({ facts, script, hearing }) {
    const { bufferedSeconds, underruns } = hearing;
    const { startedAt, liveAt, firstAudioSeconds } = facts;
    setText(this.#values.first, latency(firstAudioSeconds));
    setText(this.#values.ahead, latency(bufferedSeconds));
    setText(this.#values.underruns, firstAudioSeconds === undefined ? "–" : underruns);
    this.#values.underruns.classList.toggle("bad", underruns > 0);
    setText(this.#values.wait, latency(liveAt === undefined ? null : liveAt - startedAt));
    setText(this.#values.utterances, script.utterances ? `${script.utterancesDone} / ${script.utterances}` : "–");
  }
}
