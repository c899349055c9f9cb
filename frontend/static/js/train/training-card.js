/**
 * One training of the list: how far it is, what was found, what it sounds like, and the buttons for what can be done.
 */
import { decimal, duration, integer, ratio } from "../i18n/format.js";
import { h, icon } from "../shared/page/dom.js";
import { problemText } from "../shared/notices/problems.js";
import { toFragment } from "../studio/share-link.js";
import { lossCurve } from "./loss-curve.js";
import { setLabel, setMessage, shortList, t } from "./words.js";

/** What of the time a training has a CPU; below that it waits for other work more than it learns. */
const FEW_CPUS = 0.5;
/** States of trainings that take more recordings. */
const MAY_HAVE_MORE = new Set(["collecting", "failed", "cancelled"]);

/** Whether it is worked on, or will be. */
export function isOpen({ state }) {
  return state === "queued" || state === "running";
}

/** What is told of it beside its name. */
export function factsOf({ state, steps, recordings, audio_seconds: seconds, progress }) {
  const running = state === "running" && progress;
  const learning = running && progress.stage === "training";
  const stepping = learning && progress.step < steps;
  const waits = (stepping || (running && progress.stage === "preparing")) && progress.cpu_share != null && progress.cpu_share < FEW_CPUS;
  return [
    t("train.recordings", { count: recordings, time: duration(Math.round(seconds)) }),
    running && t(`train.stage.${progress.stage}`),
    learning && t("train.step", { step: integer(progress.step), steps: integer(steps) }),
    stepping && progress.seconds_per_step > 0 && t("train.pace", { seconds: decimal(progress.seconds_per_step, 1) }),
    waits && t("train.waits"),
    stepping && progress.seconds_left > 0 && t("train.left", { time: duration(Math.max(1, Math.round(progress.seconds_left))) }),
    progress?.losses.length > 1 && t("train.loss", { first: ratio(progress.first_loss), best: ratio(progress.best_loss) }),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** A finding in the reader's language. @param {Map<string, string>} names of recordings by id */
export function findingText({ kind, message, recordings }, names) {
  const key = `train.finding.${kind}`;
  const words = t(key, { count: recordings.length });
  const known = recordings.map((id) => names.get(id)).filter(Boolean);
  return (words === key ? message : words) + (known.length > 0 ? ` (${shortList(known)})` : "");
}

/**
 * @param {object} training of GET /api/trainings
 * @param {Map<string, string>} names of its recordings by id
 * @param {Record<"add" | "cancel" | "start" | "remove", (training: object) => void>} actions
 * @param {(button: HTMLElement, id: string) => HTMLElement} attach a button to a sample
 */
export function trainingCard(training, names, actions, attach) {
  const { id, name, state, steps, progress, voice, error } = training;
  const text = (element, words) => setMessage(element, "text.plain", { text: words });
  const button = (drawing, key, action) => {
    const made = h("button", { class: "button", type: "button", onclick: () => action(training) }, icon(drawing), h("span", { "data-i18n": key }));
    return setLabel(made, `${key}Named`, { name });
  };
  return h(
    "li",
    { class: "card train-card", "data-training": id, "data-state": state },
    h(
      "div",
      { class: "train-card-head" },
      h("h3", { dir: "auto" }, name),
      h("span", { class: "badge", "data-state": state, "data-i18n": `train.state.${state}` }),
    ),
    text(h("p", { class: "quiet train-facts" }), () => factsOf(training)),
    error && h("div", { class: "notice notice-danger" }, icon("warning"), text(h("p"), () => problemText(error))),
    isOpen(training) && progressBar(training),
    progress?.losses.length > 1 && lossCurve(progress, isOpen(training) ? steps : progress.losses.at(-1)[0]),
    state === "complete" && (voice ? tryIt(training) : h("p", { class: "quiet", "data-i18n": "train.voiceGone" })),
    progress?.findings.length > 0 && findings(progress.findings, names),
    progress?.samples.length > 0 && samples(training, attach),
    h(
      "div",
      { class: "train-buttons" },
      isOpen(training) && button("stop", "train.cancel", actions.cancel),
      MAY_HAVE_MORE.has(state) && button("plus", "train.add", actions.add),
      mayGoOn(training) && button("play", state === "collecting" ? "train.start" : "train.goOn", actions.start),
      button("trash", "train.remove", actions.remove),
    ),
  );
}

/** Where the recordings were at fault, others are needed first. */
function mayGoOn({ state, error, recordings }) {
  return state === "cancelled" || (state === "collecting" && recordings > 0) || (state === "failed" && error?.code !== "recordings_unusable");
}

function tryIt({ name, voice }) {
  const link = h("a", { class: "button button-primary", href: `/${toFragment({ voice })}` }, icon("play"), setMessage(h("span"), "train.tryIt", { name }));
  return h("p", { class: "train-done" }, link);
}

function progressBar({ name, steps, progress }) {
  const known = progress?.stage === "training" ? { max: steps, value: progress.step } : progress?.share != null ? { value: progress.share } : {};
  return setLabel(h("progress", known), "train.progress", { name });
}

function findings(found, names) {
  const items = found.map((finding) => {
    const words = setMessage(h("span"), "text.plain", { text: () => findingText(finding, names) });
    return h("li", { class: "check-item check-warning" }, icon("warning"), words);
  });
  return h("ul", { class: "checks" }, items);
}

function samples({ id: training, progress }, attach) {
  const items = progress.samples.map(({ id, step, text }) => {
    const play = attach(h("button", { class: "button-icon", type: "button" }, icon("play")), `${training} ${id}`);
    setLabel(play, "train.hearSample", { text });
    const when = setMessage(h("span", { class: "quiet" }), step === null ? "train.sampleBest" : "train.sampleStep", { step: () => integer(step) });
    return h("li", { class: "train-sample" }, play, h("span", { dir: "auto" }, text), when);
  });
  return h("details", { class: "drawer train-samples", open: true }, h("summary", {}, h("span", { "data-i18n": "train.samples" })), h("ul", {}, items));
}
