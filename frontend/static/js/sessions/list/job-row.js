/**
 * One long text of the list: how far it is, and the buttons for what can be done with it.
 */
import { duration } from "../../i18n/format.js";
import { h, icon } from "../../shared/page/dom.js";
import { problemText } from "../../shared/notices/problems.js";
import { WORD_FORMATS, titleOf, when } from "../facts.js";
import { setLabel, setMessage, t } from "../words.js";

/** Whether it is spoken, or will be. */
export function isOpen({ state }) {
  return state === "queued" || state === "running";
}

/** What is told of it beside its title: length, and how long it will take. */
function jobFacts({ audio_seconds: seconds, eta_seconds: eta, error }) {
  return [
    seconds > 0 && duration(Math.round(seconds)),
    eta !== null && t("jobs.left", { time: duration(Math.max(1, Math.round(eta))) }),
    error && problemText(error),
  ]
    .filter(Boolean)
    .join(" · ");
}

/**
 * @param {object} job of GET /api/jobs
 * @param {Record<"cancel" | "resume" | "download" | "words" | "remove", (job: object, format?: string) => void>} actions
 */
export function jobRow(job, actions) {
  const said = (element, text) => setMessage(element, "text.plain", { text });
  const button = (drawing, key, action) => {
    const made = h("button", { class: "button-icon", type: "button", onclick: () => action(job) }, icon(drawing));
    return setLabel(made, key, { title: () => titleOf(job) });
  };
  return h(
    "li",
    { class: "session-row job-row", "data-job": job.id, "data-state": job.state },
    h(
      "div",
      { class: "session-link" },
      h("span", { class: "badge", "data-state": job.state, "data-i18n": `jobs.state.${job.state}` }),
      h("span", { class: "job-name" }, said(h("span", { class: "session-title-text", dir: "auto" }), () => titleOf(job)), isOpen(job) && progress(job), hasWords(job) && wordFiles(job, actions.words)),
      h(
        "span",
        { class: "session-about" },
        h("span", { class: "session-facts-text" }, said(h("span"), () => jobFacts(job))),
        h("time", { class: "session-when", datetime: job.created_at }, said(h("span"), () => when(job.created_at))),
      ),
    ),
    isOpen(job) && button("stop", "jobs.cancel", actions.cancel),
    job.state === "complete" && button("download", "jobs.download", actions.download),
    (job.state === "failed" || job.state === "cancelled") && button("play", "jobs.resume", actions.resume),
    button("trash", "sessions.deleteNamed", actions.remove),
  );
}

function hasWords({ state, timestamps }) {
  return state === "complete" && timestamps !== "none";
}

function wordFiles(job, download) {
  const button = (format) => {
    const attributes = { class: "button button-quiet", type: "button", onclick: () => download(job, format) };
    return setLabel(h("button", attributes, format.toUpperCase()), `jobs.${format}`, { title: () => titleOf(job) });
  };
  return h("span", { class: "job-words" }, WORD_FORMATS.map(button));
}

function progress(job) {
  const bar = h("progress", { max: 1, value: job.progress });
  return setLabel(bar, "jobs.progress", { title: () => titleOf(job) });
}
