/**
 * The training page: recordings with what is said in them, whose voice it is, and what became of it.
 */
import { byId } from "../shared/page/dom.js";
import { takeDrops } from "../shared/files/file-drops.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { duration } from "../i18n/format.js";
import { mountNav } from "../shared/page/nav.js";
import { Entries } from "./entries.js";
import { recordingsOf } from "./pairing.js";
import { Reading } from "./reading.js";
import { Sending } from "./sending.js";
import { Shelf } from "./shelf.js";
import { VoiceForm } from "./voice-form.js";
import { setMessage, shortList, t } from "./words.js";

const LEAST_SECONDS = 30;
const ADVISED_SECONDS = 180;

class TrainPage {
  #entries = new Entries(byId("list"));
  #form = new VoiceForm();
  #sending = new Sending(this.#entries);
  #shelf = new Shelf(() => this.#sending.begun);
  #said = byId("said");
  /** What is said, and whether it still is so; without that, until something else is said. @type {{text: () => string, holds?: () => boolean}} */
  #saying = { text: () => "" };
  /** Ids of the trainings that are worked on. @type {string[]} */
  #going = [];

  async open() {
    new FleetStatus(mountNav(byId("nav")), () => this.#shelf.load()).start();
    const reading = new Reading();
    byId("read").append(reading.element);
    byId("form").append(this.#form.element);
    reading.addEventListener("kept", ({ detail }) => this.#entries.add([detail]));
    byId("file").addEventListener("change", ({ target }) => this.#chosen(target));
    takeDrops(byId("drop"), (files) => this.#take(files));
    this.#entries.addEventListener("change", () => this.#changed());
    this.#form.addEventListener("wanted", () => this.#start());
    this.#shelf.addEventListener("more", ({ detail }) => this.#addTo(detail));
    this.#shelf.addEventListener("told", ({ detail }) => this.#offer(detail));
    window.addEventListener("beforeunload", (event) => this.#entries.all.length > 0 && event.preventDefault());
    this.#sum();
    await Promise.all([this.#shelf.open(), this.#form.loadStatement()]);
  }

  #offer({ enabled, going, ended }) {
    byId("unavailable").hidden = enabled;
    byId("making").hidden = !enabled;
    this.#going = going;
    this.#unsay();
    if (!ended) return;
    const news = () => t("train.now", { name: ended.name, state: t(`train.state.${ended.state}`) });
    const { text, holds } = this.#saying;
    this.#say(holds ? () => `${text()} ${news()}` : news, holds);
  }

  #say(text, holds) {
    setMessage(this.#said, "text.plain", { text });
    this.#saying = { text, holds };
  }

  /** What is not so any more. */
  #unsay() {
    if (this.#saying.holds?.() === false) this.#say(() => "");
  }

  #addTo(training) {
    this.#form.addTo(training);
    byId("making").scrollIntoView({ block: "start" });
    byId("file").focus({ preventScroll: true });
  }

  #chosen(field) {
    const files = [...field.files];
    field.value = "";
    this.#take(files);
  }

  async #take(files) {
    if (files.length === 0) return;
    const { recordings, unreadable } = await recordingsOf(files);
    this.#entries.add(recordings);
    const wordless = recordings.filter(({ transcript }) => !transcript).length;
    const keys = recordings.length > 0 ? ["train.added"] : unreadable.length > 0 ? [] : ["train.noAudio"];
    if (unreadable.length > 0) keys.push("train.unreadable");
    const values = { count: recordings.length, wordless, missed: unreadable.length, names: shortList(unreadable) };
    this.#say(() => keys.map((key) => t(key, values)).join(" "), wordless > 0 ? () => this.#entries.wordless !== null : undefined);
  }

  #changed() {
    this.#form.calm();
    this.#unsay();
    this.#sum();
  }

  #sum() {
    const { seconds, all } = this.#entries;
    const key = all.length === 0 ? "train.sumNone" : seconds < LEAST_SECONDS ? "train.sumFew" : seconds < ADVISED_SECONDS ? "train.sumLittle" : "train.sumEnough";
    setMessage(byId("sum"), key, { count: all.length, time: () => duration(Math.round(seconds)) });
    byId("amount").value = Math.min(seconds, ADVISED_SECONDS);
  }

  async #start() {
    this.#form.calm();
    const { missing } = this.#form;
    const { wordless } = this.#entries;
    if (this.#entries.all.length === 0) return this.#form.fail({ code: "no_recordings", message: "recordings" });
    const tooLittle = this.#entries.measured && this.#entries.seconds < LEAST_SECONDS;
    if (tooLittle && !this.#form.order.id) return this.#form.fail({ code: "recordings_unusable", message: "recordings" });
    if (wordless) {
      this.#entries.say(wordless, { code: "missing_field", param: "transcript", message: "transcript" });
      return this.#entries.focus(wordless);
    }
    if (missing && !this.#form.hasStatement) await this.#form.loadStatement(); // it could not be fetched before
    if (missing) return this.#form.fail({ code: "missing_field", param: missing, message: missing });
    this.#form.show({ sent: 0, count: this.#entries.all.length });
    try {
      const { training, refused } = await this.#sending.send(this.#form.order, (progress) => this.#form.show(progress));
      if (training) await this.#begun(training);
      else this.#refused(refused);
    } catch (error) {
      this.#form.fail(error, () => this.#start());
    } finally {
      this.#form.show(null);
    }
    return undefined;
  }

  #refused(count) {
    this.#form.tell("train.refused", { count });
    this.#entries.focus(this.#entries.all.find(({ sent }) => !sent));
  }

  async #begun({ id, name }) {
    this.#entries.clearSent();
    this.#form.reset();
    await this.#shelf.load();
    this.#say(() => t("train.begun", { name }), () => this.#going.includes(id));
    const card = document.querySelector(`[data-training="${CSS.escape(id)}"]`);
    card?.scrollIntoView({ block: "nearest" });
    card?.querySelector("button")?.focus({ preventScroll: true });
  }
}

new TrainPage().open();
