/**
 * The page of one recording: replay with the text that is spoken, what happened, and what its owner does with it.
 *
 * The address names it: /sessions/{id}, and ?key= opens one that somebody shared, to look at only.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { byId, h } from "../../shared/page/dom.js";
import { FleetStatus } from "../../shared/service/fleet-status.js";
import { fleet } from "../../shared/service/fleet.js";
import { mountNav } from "../../shared/page/nav.js";
import { showFailure, showProblem } from "../../shared/notices/problem-notice.js";
import { save } from "../../shared/files/save.js";
import { bindShortcuts } from "../../shared/page/shortcuts.js";
import { SoundTurn } from "../../shared/hearing/tabs.js";
import { showComment } from "./comment.js";
import { interruptions, showEvents } from "./event-list.js";
import { WORD_FORMATS } from "../facts.js";
import { actionButton, showFacts, showTitle } from "./head.js";
import { Lane } from "./lane.js";
import { narrativeOf } from "./narrative.js";
import { Reader } from "./reader.js";
import { openAudio } from "../recording-audio.js";
import { studioAddress } from "../to-studio.js";
import { Transport } from "./transport.js";
import { rememberVoices } from "../../voices/voice-names.js";
import { setMessage, t } from "../words.js";

const ACTIVE_REFRESH_MS = 3000;

class Viewer {
  #id = decodeURIComponent(location.pathname.split("/").pop());
  #share = { key: new URLSearchParams(location.search).get("key") ?? undefined };
  #session = null;
  #told = null;
  #transport = null;
  #refresh = null;
  /** Names are worth a moment, and no error: who was sent a link may not be told of them. */
  #voices = fleet.voices().then(rememberVoices, () => null);
  #turn = new SoundTurn(() => this.#transport?.pause());

  async open() {
    new FleetStatus(mountNav(byId("nav")), () => this.#session || this.#load()).start();
    bindShortcuts({ Space: () => this.#transport?.toggle() });
    window.addEventListener("apikey", () => this.#load());
    for (const format of WORD_FORMATS) byId(`words-${format}`).addEventListener("click", () => this.#downloadWords(format));
    await this.#load();
  }

  async #load() {
    try {
      [this.#told] = await Promise.all([fleet.session(this.#id, this.#share), this.#voices]);
      const { session, timeline } = this.#told;
      byId("problem").hidden = true;
      this.#show(session, timeline);
      clearTimeout(this.#refresh);
      if (session.state === "active") this.#refresh = setTimeout(() => this.#load(), ACTIVE_REFRESH_MS);
    } catch (error) {
      this.#showProblem(error);
    }
    byId("session").removeAttribute("aria-busy");
  }

  /** Whether it may be changed: by its owner, who then can also tell others of it. */
  get #mine() {
    return this.#session.owner_is_me;
  }

  /** Shows it, again when it has grown: a title or a comment that is being written stays. */
  #show(session, timeline) {
    this.#session = session;
    document.title = `${session.title || "VoxFleet"} · VoxFleet`;
    for (const id of ["skip", "head", "lower", "stage"]) byId(id).hidden = false;
    byId("heading").hidden = true; // its title is one
    byId("back").hidden = !this.#mine;
    if (!byId("title").querySelector("form")) showTitle(byId("title"), session, this.#mine ? (title) => this.#change({ title }) : null);
    showFacts(byId("facts"), session);
    this.#showActions();
    this.#showState();
    this.#showReplay(narrativeOf(timeline), timeline);
    byId("comment-section").hidden = !this.#mine && !session.comment;
    if (!byId("comment").querySelector("textarea")) showComment(byId("comment"), session.comment, this.#mine ? (comment) => this.#change({ comment }) : null);
  }

  #showState() {
    const { state, reason } = this.#session;
    const note = byId("interrupted");
    note.hidden = state === "complete" && !reason;
    if (state === "active") setMessage(note, "session.active");
    else if (reason) setMessage(note, "session.incomplete", { reason });
    else setMessage(note, "session.interrupted");
  }

  #showReplay(narrative, timeline) {
    const reader = new Reader(byId("transcript"), narrative);
    const lane = new Lane(byId("lane"), narrative);
    const audio = h("audio", { id: "audio", preload: "metadata" });
    byId("audio").replaceWith(audio); // with whatever listened to it before
    const transport = new Transport(byId("transport"), audio, narrative.seconds);
    this.#transport = transport;
    lane.setMarks(interruptions(timeline));
    showEvents(byId("timeline"), narrative, (seconds) => transport.playFrom(seconds));
    reader.addEventListener("seek", ({ detail }) => transport.playFrom(detail));
    lane.addEventListener("seek", ({ detail }) => transport.seek(detail));
    transport.addEventListener("position", ({ detail: { seconds, playing } }) => {
      this.#turn.note(playing);
      reader.show(seconds, playing);
      lane.show(seconds);
      byId("stage").dataset.seconds = seconds.toFixed(2);
    });
    if (this.#session.state !== "active" && narrative.seconds > 0) this.#openAudio(transport, lane);
  }

  async #openAudio(transport, lane) {
    try {
      const { url, envelope } = await openAudio(this.#session, this.#share);
      transport.open(url);
      if (envelope) lane.setEnvelope(envelope);
    } catch (error) {
      this.#showProblem(error);
    }
  }

  // ------------------------------------------------------------------------------------------------- actions

  #showActions() {
    const over = this.#session.state !== "active";
    const buttons = [
      over && actionButton("download", "download", "session.download", () => this.#download()),
      over && actionButton("studio", "edit", "session.studio", () => location.assign(studioAddress(this.#told))),
      this.#mine && actionButton("share", "share", this.#session.shared ? "session.copyLink" : "session.share", () => this.#shareLink()),
      this.#mine && this.#session.shared && actionButton("unshare", "close", "session.unshare", () => this.#unshare()),
      this.#mine && over && actionButton("delete", "trash", "session.delete", () => this.#delete()),
    ];
    byId("actions").replaceChildren(...buttons.filter(Boolean));
    byId("word-files").hidden = !over || !(this.#session.audio_seconds > 0);
  }

  /** @returns {Promise<boolean>} whether it was taken */
  async #change(changes) {
    return this.#try(async () => {
      const { session } = await fleet.updateSession(this.#id, changes);
      Object.assign(this.#session, session);
      this.#say("session.saved");
    });
  }

  #shareLink() {
    return this.#try(async () => {
      const { url } = await fleet.shareSession(this.#id);
      const link = new URL(url, location.origin).href;
      this.#session.shared = true;
      this.#showActions();
      byId("share").focus();
      try {
        await navigator.clipboard.writeText(link);
        this.#say("session.linkCopied");
      } catch {
        this.#showLink(link); // no clipboard on plain http from another machine
      }
    });
  }

  #showLink(link) {
    const field = h("input", { type: "text", readonly: true, value: link, "data-i18n-label": "session.link" });
    byId("actions").append(field);
    field.select();
    this.#say("session.linkShown");
  }

  #unshare() {
    return this.#try(async () => {
      await fleet.unshareSession(this.#id);
      this.#session.shared = false;
      this.#showActions();
      byId("share").focus();
      this.#say("session.unshared");
    });
  }

  #download() {
    return this.#take(() => fleet.downloadSession(this.#id, this.#share), "session.packing", "session.downloaded");
  }

  #downloadWords(format) {
    return this.#take(() => fleet.sessionWords(this.#id, format, this.#share), "session.timing", "session.timed");
  }

  /** @param {() => Promise<File>} ask @param {string} meanwhile what is said until it is there @param {string} then */
  #take(ask, meanwhile, then) {
    const take = async () => {
      this.#say(meanwhile);
      const file = await ask();
      save(file, file.name);
      this.#say(then);
    };
    return this.#try(take, () => this.#take(ask, meanwhile, then));
  }

  async #delete() {
    const sure = { title: t("sessions.deleteAsk"), text: this.#session.title, verb: t("sessions.delete") };
    if (!(await confirmed(sure))) return;
    await this.#try(async () => {
      await fleet.deleteSession(this.#id);
      location.assign("/sessions");
    });
  }

  /** @param {() => Promise<void>} action @param {() => void} [again] what is offered if it fails */
  async #try(action, again = () => this.#load()) {
    byId("problem").hidden = true;
    try {
      await action();
      return true;
    } catch (error) {
      setMessage(byId("status"), "text.plain", { text: "" });
      showFailure(byId("problem"), error, { again });
      return false;
    }
  }

  #say(key) {
    setMessage(byId("status"), key);
  }

  #showProblem(error) {
    showProblem(byId("problem"), error, { again: () => this.#load() });
  }
}

new Viewer().open();
