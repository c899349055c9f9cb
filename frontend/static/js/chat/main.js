/**
 * The chat page: messages go to a served text model, and its answers are read as they are written, or heard.
 */
import { copyButton } from "../shared/page/clipboard.js";
import { byId, h } from "../shared/page/dom.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { fleet, pageConfig } from "../shared/service/fleet.js";
import { followKeyboard } from "../shared/page/keyboard.js";
import { mountNav } from "../shared/page/nav.js";
import { showProblem } from "../shared/notices/problem-notice.js";
import { QueueBanner } from "../shared/notices/queue-banner.js";
import { bindShortcuts } from "../shared/page/shortcuts.js";
import { UndoBar } from "../shared/notices/undo-bar.js";
import { Remembered } from "../shared/page/storage.js";
import { tabs } from "../shared/hearing/tabs.js";
import { Aloud } from "./aloud.js";
import { partsOf } from "./answer-text.js";
import { Composer } from "./composer.js";
import { Settings } from "./settings.js";
import { Talk } from "./talk.js";
import { TurnList } from "./turn-list.js";
import { setMessage, t } from "./words.js";

const EXAMPLES = ["plan", "letter", "why"];
const COMMAND = "./start_all.sh --text-model path/to/Qwen3-0.6B";
/** In these there may be a place in line. */
const WAITING = ["asking", "waiting"];
/** Answers of more are not said to a screen reader by themselves. */
const MOST_SAID = 1000;

class Chat {
  #memory = new Remembered("chat");
  #saved = this.#memory.load();
  /** Whether a text model is; null: not known yet. */
  #served = null;
  /** Whether it could not be had what is served. */
  #unloaded = false;
  #talk = new Talk(fleet, new Remembered("chat-conversation"));
  #turns = new TurnList(byId("turns-frame"), byId("turns"));
  #queue = new QueueBanner(byId("queue"), byId("send"), () => this.#stop());
  #undo = new UndoBar(byId("undo"), { closed: () => this.#composer.focus() });
  #settings = new Settings(
    {
      model: byId("model"), modelField: byId("model-field"), system: byId("system"),
      thinking: byId("thinking"), thinkingField: byId("thinking-field"), parameters: byId("parameters"),
    },
    this.#saved,
  );
  #aloud = new Aloud({ section: byId("aloud-section"), switch: byId("aloud"), voices: byId("voices") }, this.#saved);
  #composer = new Composer(
    { form: byId("composer"), area: byId("text"), button: byId("send"), rewording: byId("rewording"), leave: byId("leave-rewording") },
    this.#saved.text,
  );

  async open() {
    const loaded = this.#load(); // asked first: it takes longest
    followKeyboard();
    const status = mountNav(byId("nav"), { onHelp: () => byId("help").showModal() });
    new FleetStatus(status, () => this.#load()).start();
    byId("examples").append(...EXAMPLES.map((name) => this.#example(name)));
    byId("command").append(h("code", {}, COMMAND), copyButton(() => COMMAND, "chat.copyCommand"));
    this.#bind();
    this.#talk.load();
    this.#remember();
    await loaded;
  }

  #bind() {
    const on = (part, type, action) => part.addEventListener(type, ({ detail }) => action(detail));
    on(this.#talk, "turns", () => this.#showTurns());
    on(this.#talk, "grown", () => this.#turns.grown(this.#talk.turns.at(-1)));
    on(this.#talk, "queued", (news) => this.#queue.show(news));
    on(this.#talk, "audio", (pcm) => this.#aloud.take(pcm));
    on(this.#talk, "state", () => this.#showState());
    on(this.#talk, "answered", (turn) => this.#answered(turn));
    on(this.#talk, "failed", (problem) => this.#showProblem(problem));
    on(this.#turns, "again", () => this.#again());
    on(this.#turns, "edit", () => this.#composer.reword(this.#talk.lastQuestion));
    on(this.#composer, "recall", () => this.#talk.lastQuestion && this.#composer.reword(this.#talk.lastQuestion));
    on(this.#composer, "send", (message) => this.#send(message));
    on(this.#composer, "stop", () => this.#stop());
    on(this.#composer, "due", () => this.#showDue());
    on(this.#aloud, "sound", () => this.#showState());
    on(this.#aloud, "failed", (problem) => this.#showProblem(problem));
    for (const part of [this.#settings, this.#aloud]) on(part, "change", () => this.#remember());
    on(this.#composer, "edited", () => this.#remember());
    byId("renew").addEventListener("click", () => this.#renew());
    tabs.addEventListener("chat", () => this.#talk.load());
    window.addEventListener("pagehide", () => this.#talk.busy && this.#talk.keep());
    window.addEventListener("apikey", () => this.#load());
    bindShortcuts({
      Escape: () => this.#composer.leave() || this.#stop(),
      "/": () => this.#composer.focus(),
      "?": () => byId("help").showModal(),
    });
  }

  #example(name) {
    const write = () => (this.#composer.text = t(`chat.example.${name}`));
    return h("button", { class: "chip", type: "button", onclick: write, "data-i18n": `chat.example.${name}` });
  }

  async #load() {
    try {
      const config = await pageConfig();
      if (this.#unloaded) byId("error").hidden = true; // it is there now
      this.#unloaded = false;
      byId("unserved").hidden = config.text_models?.length > 0;
      this.#settings.offer(config);
      this.#showTurns();
      if (!byId("unserved").hidden && this.#talk.turns.length > 0) this.#turns.toEnd(); // it is said there
      const offered = this.#aloud.offer(config);
      if (this.#aloud.wanted) await offered; // what is sent now is to have its voice
      this.#served = byId("unserved").hidden;
      this.#showState();
    } catch (error) {
      this.#unloaded = true;
      this.#showProblem(error);
    }
  }

  #send({ text, rewords }) {
    const options = this.#begin();
    if (rewords) this.#talk.reword(text, options);
    else this.#talk.ask(text, options);
  }

  #again() {
    if (!this.#served || !this.#talk.lastQuestion) {
      this.#load();
      return;
    }
    byId("turns-frame").focus({ preventScroll: true }); // the button goes with its answer
    this.#talk.again(this.#begin());
  }

  /** @returns {object} how it is asked */
  #begin() {
    byId("error").hidden = true;
    byId("undo").hidden = true;
    return { ...this.#settings.values, ...this.#aloud.prepare() };
  }

  #stop() {
    this.#talk.stop();
    this.#aloud.hush();
  }

  #renew() {
    this.#aloud.hush();
    this.#composer.leave();
    byId("error").hidden = true;
    const turns = this.#talk.clear();
    tabs.tell("chat");
    this.#undo.offer("chat.renewed", {}, async () => {
      this.#talk.restore(turns);
      tabs.tell("chat");
      this.#composer.focus();
    });
    this.#composer.focus();
  }

  #answered(turn) {
    if (turn.state === "stopped") this.#aloud.hush();
    else this.#aloud.end(turn);
    const { said } = partsOf(turn.text);
    const silent = !this.#aloud.sounding && said.length <= MOST_SAID; // speech over speech is neither
    byId("read").textContent = silent ? said : "";
    tabs.tell("chat");
    this.#showTurns();
  }

  #showTurns() {
    const { turns } = this.#talk;
    this.#turns.show(turns, (turn) => this.#aloud.buttons(turn));
    byId("blank").hidden = turns.length > 0 || !byId("unserved").hidden;
    byId("renew").hidden = turns.length === 0;
  }

  #showDue() {
    if (this.#composer.due && this.#unloaded) this.#load();
    this.#showState();
  }

  #showState() {
    const { state } = this.#talk;
    const busy = this.#talk.busy || this.#aloud.sounding;
    if (!WAITING.includes(state)) this.#queue.hide({ turn: state === "writing" });
    this.#composer.set(this.#served, busy);
    byId("turns").setAttribute("aria-busy", String(this.#talk.busy));
    const heard = this.#aloud.slow ? "slow" : "speaking";
    const said = this.#composer.due ? "due" : this.#aloud.sounding && (state === "idle" || heard === "slow") ? heard : state;
    setMessage(byId("status"), `chat.state.${said}`);
    byId("chat").dataset.state = this.#talk.busy ? state : this.#aloud.sounding ? "speaking" : "idle";
    if (!busy) this.#showTurns(); // with what can be done now
  }

  #showProblem(problem) {
    showProblem(byId("error"), problem, {
      again: () => this.#again(),
      conversation: () => this.#renew(),
      text: () => this.#composer.focus(),
      settings: () => (byId("advanced").open = true),
      ...(this.#aloud.wanted ? { voice: () => this.#aloud.focus() } : {}),
    });
  }

  #remember() {
    const count = this.#settings.moved;
    setMessage(byId("advanced-note"), count ? "parameters.changed" : "parameters.defaults", { count });
    this.#memory.save({ ...this.#settings.kept, ...this.#aloud.kept, text: this.#composer.text });
  }
}

new Chat().open();
