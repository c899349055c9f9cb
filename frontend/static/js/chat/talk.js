/**
 * A conversation with a text model: its turns, and the answer that is being written.
 *
 * A turn is {role: "user", text} or {role: "assistant", text, state, model?, tokens?, seconds?}; states of answers are
 * "writing", "complete", "length" (it was as long as it may be), "stopped" and "broken". `of` names a question and its
 * answer together: where other tabs have kept more meanwhile, those two are put into that.
 *
 * Events: "turns" (others are there), "grown" (the last one), "state" (detail: "idle", "asking", "writing" or "waiting",
 * which is to be spoken), "queued" (detail: {position, eta_seconds}), "audio" (detail: ArrayBuffer), "answered" (detail:
 * the turn), "failed" (detail: the error).
 */
import { partsOf } from "./answer-text.js";

const ROLES = ["user", "assistant"];
/** How an answer may have ended. */
const ENDS = ["complete", "length", "stopped", "broken"];
/** What is told of an answer beside its text, and how it then stands. */
const NEWS = { queued: ({ speech = false }) => (speech ? "waiting" : "asking"), audio: () => "writing" };

const now = () => performance.now() / 1000;

/** What a model is told. Answers go without what was thought, as models were trained; those that say nothing are left out. */
export function messagesOf(turns, system = "") {
  const told = turns.map(({ role, text }) => ({ role, content: role === "assistant" ? partsOf(text).said : text }));
  const first = system.trim() ? [{ role: "system", content: system.trim() }] : [];
  return [...first, ...told.filter(({ content }) => content !== "")];
}

export class Talk extends EventTarget {
  #client;
  #memory;
  #running = null;
  #state = "idle";
  /** What is kept, as far as this tab knows. */
  #known = "";

  /** @type {object[]} */
  turns = [];

  /** @param {{streamChat: Function}} client @param {{load: () => object, save: (value: object) => void}} memory */
  constructor(client, memory) {
    super();
    this.#client = client;
    this.#memory = memory;
  }

  /** Whether an answer is waited for or written. */
  get busy() {
    return this.#running !== null;
  }

  get state() {
    return this.#state;
  }

  /** What was kept; not while something is written. @returns {boolean} whether it is shown */
  load() {
    if (this.busy) return false;
    this.turns = this.#stored();
    this.#emit("turns");
    return true;
  }

  keep() {
    if (this.busy) this.#join(this.#running.of);
    this.#save();
  }

  /** The turns as this tab or another one kept them last. */
  #stored() {
    const value = this.#memory.load();
    const known = JSON.stringify(value);
    if (known === this.#known) return this.turns;
    this.#known = known;
    return Array.isArray(value.turns) ? value.turns.flatMap(kept) : [];
  }

  #save() {
    const value = { turns: this.turns };
    this.#memory.save(value);
    this.#known = JSON.stringify(value);
  }

  /** What other tabs have kept since is there, too, around the question and the answer of this one. */
  #join(of) {
    const stored = this.#stored();
    if (stored === this.turns) return;
    const isOurs = (turn) => turn.of === of;
    const at = stored.findIndex(isOurs);
    const others = stored.filter((turn) => !isOurs(turn));
    others.splice(at < 0 ? others.length : at, 0, ...this.turns.filter(isOurs));
    this.turns = others;
  }

  /** @param {string} text @param {object} options system, and those of streamChat */
  ask(text, options) {
    this.stop();
    return this.#ask(this.#stored(), text, options);
  }

  #ask(turns, text, options) {
    this.turns = [...turns, { role: "user", text, of: newName() }];
    return this.#answer(options);
  }

  /** The last question once more, in the place of its answer. */
  again(options) {
    this.stop();
    return this.lastQuestion ? this.reword(this.lastQuestion, options) : undefined;
  }

  /** The last question in other words. */
  reword(text, options) {
    this.stop();
    return this.#ask(this.turns.slice(0, this.turns.findLastIndex(({ role }) => role === "user")), text, options);
  }

  get lastQuestion() {
    return this.turns.findLast(({ role }) => role === "user")?.text ?? "";
  }

  /** Ends the answer; what is written of it stays. */
  stop() {
    const running = this.#running;
    if (!running) return;
    running.abort.abort();
    this.#settle(running, "stopped");
  }

  /** Begins anew. @returns {object[]} the turns that were there */
  clear() {
    this.stop();
    const { turns } = this;
    this.restore([]);
    return turns;
  }

  /** @param {object[]} turns as clear() gave them */
  restore(turns) {
    this.stop();
    this.turns = turns;
    this.#save();
    this.#emit("turns");
  }

  async #answer({ system, ...options }) {
    const { of } = this.turns.at(-1);
    const turn = { role: "assistant", text: "", state: "writing", of };
    const running = { of, turn, abort: new AbortController(), begunAt: null };
    const messages = messagesOf(this.turns, system);
    this.#running = running;
    this.turns = [...this.turns, turn];
    this.#save();
    this.#emit("turns");
    this.#enter("asking");
    try {
      const { finishReason, ...facts } = await this.#read(running, messages, options);
      this.#settle(running, finishReason === "length" ? "length" : "complete", facts);
    } catch (error) {
      if (this.#running !== running) return; // it was stopped
      this.#settle(running, "broken");
      this.#emit("failed", error);
    }
  }

  async #read(running, messages, options) {
    const stream = this.#client.streamChat(messages, { ...options, signal: running.abort.signal });
    for (const [type, stateOf] of Object.entries(NEWS)) {
      stream.addEventListener(type, ({ detail }) => {
        if (this.#running !== running) return;
        this.#enter(stateOf(detail));
        this.#emit(type, detail);
      });
    }
    for await (const piece of stream) {
      if (this.#running !== running) break;
      running.begunAt ??= now();
      if (this.#state === "asking") this.#enter("writing");
      running.turn.text += piece;
      this.#emit("grown");
    }
    const { finishReason, model, completionTokens: tokens } = stream.answer ?? {};
    return { finishReason, model, tokens, seconds: now() - running.begunAt };
  }

  /** It is over. An answer of which nothing was written is none. */
  #settle(running, state, facts = {}) {
    if (this.#running !== running) return;
    this.#running = null;
    Object.assign(running.turn, { state, ...facts });
    this.#join(running.of);
    const none = running.turn.text === "" && state !== "complete" && state !== "length";
    if (none) this.turns = this.turns.filter((turn) => turn !== running.turn);
    this.keep();
    this.#emit("turns");
    this.#enter("idle");
    if (!none) this.#emit("answered", running.turn);
  }

  #enter(state) {
    if (state === this.#state) return;
    this.#state = state;
    this.#emit("state", state);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

/** A turn as it was kept: of an answer that its page was left in the middle of, what there was. None where it is no turn. @returns {object[]} */
function kept(turn) {
  if (typeof turn?.text !== "string" || !ROLES.includes(turn.role)) return [];
  const { role, text, of, state, model, tokens, seconds } = turn;
  const pair = typeof of === "string" ? { of } : {};
  if (role === "user") return [{ role, text, ...pair }];
  const known = { ...pair, model: typeof model === "string" ? model : undefined, tokens: numberOf(tokens), seconds: numberOf(seconds) };
  return [{ role, text, state: ENDS.includes(state) ? state : "stopped", ...known }];
}

function newName() {
  return `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
}

function numberOf(value) {
  return Number.isFinite(value) ? value : undefined;
}
