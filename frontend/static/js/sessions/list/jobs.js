/**
 * Long texts on the sessions page: a text file becomes a job, which is spoken while nobody waits. The list says how
 * far each is, stops it, goes on with it, and fetches its audio.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { byId } from "../../shared/page/dom.js";
import { keepFocus } from "../../shared/page/focus.js";
import { fleet } from "../../shared/service/fleet.js";
import { showProblem } from "../../shared/notices/problem-notice.js";
import { needsKey } from "../../shared/notices/problems.js";
import { Polling } from "../../shared/service/polling.js";
import { save } from "../../shared/files/save.js";
import { textOf } from "../../shared/files/text-of.js";
import { titleOf } from "../facts.js";
import { isOpen, jobRow } from "./job-row.js";
import { renewed } from "./renewed.js";
import { setMessage, t } from "../words.js";

/** How many are listed at first, and how many more at a press. */
const PAGE = 50;
const REFRESH_MS = 3000;

export class Jobs {
  #list = byId("job-list");
  #said = byId("job-said");
  #polling = new Polling({
    ask: (again) => (again ? renewed(() => this.#known, page, isOpen) : this.#ask()),
    show: (known) => this.#draw(known),
    fail: (error, again) => needsKey(error) || this.#showProblem(error, again), // the list of recordings asks for the key
    notice: byId("job-problem"),
    milliseconds: REFRESH_MS,
  });
  #most = PAGE;
  /** @type {import("./renewed.js").Rows} those that are listed */
  #known = { rows: [], next: null };
  /** Ids of those whose end is still to be told. */
  #open = new Set();

  async open() {
    byId("job-file").addEventListener("change", ({ target }) => this.#start(target));
    byId("job-more").addEventListener("click", () => {
      this.#most += PAGE;
      this.load();
    });
    window.addEventListener("apikey", () => this.load());
    document.addEventListener("visibilitychange", () => document.hidden || this.load());
    await this.load();
  }

  load() {
    return this.#polling.load();
  }

  /** As many as are wanted, page by page. @returns {Promise<import("./renewed.js").Rows>} */
  async #ask() {
    const known = { rows: [], next: null };
    do {
      const { rows, next } = await page(known.next);
      known.rows.push(...rows);
      known.next = next;
    } while (known.next !== null && known.rows.length < this.#most);
    return known;
  }

  /** @returns {boolean} whether one of them goes on */
  #draw(known) {
    this.#known = known;
    for (const job of known.rows) {
      if (isOpen(job)) this.#open.add(job.id);
      else if (this.#open.delete(job.id)) this.#tell(job);
    }
    byId("job-more").hidden = known.next === null;
    const actions = {
      cancel: (job) => this.#do(() => fleet.cancelJob(job.id)),
      resume: (job) => this.#do(() => fleet.resumeJob(job.id)),
      download: (job) => this.#do(() => this.#download(job)),
      words: (job, format) => this.#do(() => this.#downloadWords(job, format)),
      remove: (job) => this.#remove(job),
    };
    keepFocus(this.#list, "data-job", () => this.#list.replaceChildren(...known.rows.map((job) => jobRow(job, actions))), byId("job-file"));
    return known.rows.some(isOpen);
  }

  async #start(field) {
    const [file] = field.files;
    field.value = "";
    const options = { title: file?.name.replace(/\.\w+$/, ""), timestamps: "word" };
    if (!file) return;
    await this.#do(async () => {
      const job = await fleet.startJob(await textOf(file), options);
      this.#open.add(job.id);
      this.#tell(job);
    });
  }

  /** What becomes of one, for who does not look at its row. */
  #tell(job) {
    setMessage(this.#said, "jobs.now", { title: titleOf(job), state: () => t(`jobs.state.${job.state}`) });
  }

  async #download(job) {
    setMessage(this.#said, "jobs.packing");
    save(await fleet.jobResult(job.id), `${titleOf(job)}.${job.format}`);
    setMessage(this.#said, "jobs.saved");
  }

  async #downloadWords(job, format) {
    setMessage(this.#said, "jobs.packing");
    save(await fleet.jobWords(job.id, format), `${titleOf(job)}.${format}`);
    setMessage(this.#said, "jobs.saved");
  }

  async #remove(job) {
    const title = titleOf(job);
    if (!(await confirmed({ title: t("jobs.deleteAsk"), text: title, verb: t("sessions.delete") }))) return;
    await this.#do(async () => {
      await fleet.deleteJob(job.id);
      setMessage(this.#said, "sessions.deleted", { title });
    });
  }

  async #do(work) {
    byId("job-problem").hidden = true;
    try {
      await work();
    } catch (error) {
      setMessage(this.#said, "text.plain", { text: "" });
      if (error.code === "unknown_job") await this.load(); // it is not shown any more either
      this.#showProblem(error, () => this.#do(work));
      return;
    }
    await this.load();
  }

  #showProblem(error, again) {
    showProblem(byId("job-problem"), error, { again });
  }
}

/** @param {string | null} before @returns {Promise<import("./renewed.js").Rows>} */
async function page(before) {
  const { jobs: rows, next_before: next } = await fleet.jobs({ limit: PAGE, before });
  return { rows, next };
}
