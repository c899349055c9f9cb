/**
 * The box that text is sent from. Words leave it when they are complete; in feed mode they leave it one token after
 * the other, as from a language model. What is left in the box was not sent.
 *
 * Events: "text" (detail: the text to append), "flush" (speak what is incomplete as well), "wanted" (a session is) and
 * "entered" (likewise, for the line in the box), and "edited" when there is something to remember.
 */
import { h, icon, setIcon } from "../shared/page/dom.js";
import { TokenFeed } from "./token-feed.js";
import { takeWords, tokensOf } from "./word-gate.js";
import { setLabel, setMessage } from "./words.js";

const RATE = { min: 2, max: 100, step: 1, value: 20 };

export class Composer extends EventTarget {
  #area;
  #hint;
  #accepting = false;
  #held = false;
  #room;
  #modes;
  #rate = h("input", { id: "rate", type: "range", ...RATE });
  #rateValue = h("output", { for: "rate" });
  #feedWords = h("span", {});
  #feedButton = h("button", { class: "button", id: "feed-button", type: "button" }, icon("play"), this.#feedWords);
  #feedPlace;
  #feed = new TokenFeed({ take: (count) => this.#takeTokens(count), rate: () => Number(this.#rate.value) });

  /** @param {Record<"area" | "hint" | "modes" | "feed", HTMLElement>} elements @param {{mode?, rate?, text?}} saved
   *  @param {() => number} room characters that may be sent now */
  constructor({ area, hint, modes, feed }, saved = {}, room = () => Infinity) {
    super();
    this.#room = room;
    this.#area = area;
    this.#hint = hint;
    this.#feedPlace = feed;
    this.#modes = ["typed", "feed"].map((mode) => modeChoice(mode, mode === (saved.mode ?? "typed")));
    modes.append(...this.#modes.map(({ element }) => element));
    modes.addEventListener("change", () => this.#modeChanged());
    this.#rate.value = saved.rate ?? RATE.value;
    this.#rate.addEventListener("input", () => this.#showRate());
    feed.append(h("label", { for: "rate", "data-i18n": "live.rate" }), this.#rate, this.#rateValue, this.#feedButton);
    this.#feedButton.addEventListener("click", () => (this.#feed.running ? this.stopFeed() : this.#askForFeed()));
    area.value = saved.text ?? "";
    area.addEventListener("input", (event) => event.isComposing || this.#edited());
    area.addEventListener("compositionend", () => this.#edited());
    area.addEventListener("keydown", (event) => this.#key(event));
    this.#showRate();
    this.#modeChanged();
  }

  get mode() {
    return this.#modes.find(({ input }) => input.checked).mode;
  }

  /** What is remembered of it. */
  get settings() {
    return { mode: this.mode, rate: Number(this.#rate.value), text: this.#area.value };
  }

  /** Whether there is a session that takes text; it gets what waits in the box. */
  accept(accepting) {
    const opened = accepting && !this.#accepting;
    this.#accepting = accepting;
    if (opened) this.#begin();
    if (!accepting) this.stopFeed();
  }

  /** There is room for more of what waits in the box. */
  more() {
    if (this.#area.value.length > 0 && !this.#held) this.#typed();
  }

  /** A barge-in: what waits in the box stays there until the reader writes on. */
  hold() {
    this.stopFeed();
    this.#held = true;
  }

  /** Sends the box as it is, half a word at its end included. */
  sendAll() {
    this.stopFeed();
    const text = this.#area.value.slice(0, this.#room());
    this.#area.value = this.#area.value.slice(text.length);
    if (text) this.#emit("text", text);
  }

  /** Text that was sent and not spoken is in the box again, before what waits there. */
  takeBack(text) {
    if (text === "") return;
    this.stopFeed();
    this.#area.value = text + this.#area.value;
    this.#emit("edited");
  }

  /** What is in the box is entered, or else an example. */
  hear(example) {
    if (this.#area.value.trim() === "") this.#area.value = example;
    if (this.mode === "feed") this.#askForFeed();
    else this.#enter();
  }

  stopFeed() {
    this.#feed.stop();
    this.#showFeed();
  }

  focus() {
    this.#area.focus();
  }

  #begin() {
    if (this.mode === "typed") this.#typed();
    else if (this.#area.value.trim()) this.#startFeed();
  }

  #edited() {
    this.#held = false;
    this.#emit("edited");
    this.#typed();
  }

  #typed() {
    if (!this.#accepting || this.mode !== "typed") return;
    const [ready] = takeWords(this.#area.value.slice(0, this.#room()));
    if (ready === "") return;
    const rest = this.#area.value.slice(ready.length);
    this.#area.value = rest;
    this.#area.setSelectionRange(rest.length, rest.length);
    this.#emit("text", ready);
  }

  /** Enter sends the line and has it spoken, as in a chat. */
  #key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    if (this.mode !== "typed" || (!this.#accepting && this.#area.value.trim() === "")) return;
    event.preventDefault();
    this.#enter();
  }

  #enter() {
    if (!this.#accepting) this.#emit("entered");
    if (!this.#accepting) return; // the last session still speaks
    this.#area.value += "\n";
    this.#edited();
    this.#emit("flush");
  }

  #askForFeed() {
    if (this.#accepting) this.#startFeed();
    else this.#emit("wanted");
  }

  #startFeed() {
    this.#feed.start();
    this.#showFeed();
  }

  /** @returns {boolean} whether something is left */
  #takeTokens(count) {
    const tokens = tokensOf(this.#area.value);
    if (tokens.length > 0 && this.#room() < 100) return true; // it can wait
    const taken = tokens.slice(0, count).join("");
    this.#area.value = this.#area.value.slice(taken.length);
    if (taken) this.#emit("text", taken);
    if (tokens.length > count) return true;
    this.#emit("flush");
    queueMicrotask(() => this.#showFeed());
    return false;
  }

  #modeChanged() {
    this.stopFeed();
    this.#feedPlace.hidden = this.mode !== "feed";
    setMessage(this.#hint, `live.hint.${this.mode}`);
    setLabel(this.#area, `live.placeholder.${this.mode}`, {}, "placeholder");
    this.#edited();
  }

  #showRate() {
    const { value, min, max } = this.#rate;
    this.#rate.style.setProperty("--fill", `${(100 * (value - min)) / (max - min)}%`);
    setMessage(this.#rateValue, "live.rateValue", { rate: value });
  }

  #showFeed() {
    const { running } = this.#feed;
    this.#area.readOnly = running;
    setIcon(this.#feedButton, running ? "pause" : "play");
    setMessage(this.#feedWords, running ? "live.feedHold" : "live.feedStart");
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

function modeChoice(mode, checked) {
  const input = h("input", { type: "radio", name: "mode", value: mode, checked });
  return { mode, input, element: h("label", {}, input, h("span", { "data-i18n": `live.mode.${mode}` })) };
}
