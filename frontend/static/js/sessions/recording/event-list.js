/**
 * What happened in a session, line by line: utterances with their worker and outcome, changes of worker, and what the
 * listener did. A line of an utterance takes the player there.
 */
import { h } from "../../shared/page/dom.js";
import { clock, latency } from "../../i18n/format.js";
import { nameOfVoice } from "../../voices/voice-names.js";
import { has, setMessage, t } from "../words.js";

/** How facts are told that a page knows more of. */
const TOLD = { index: (index) => index + 1, voice: nameOfVoice };

const EXCERPT = 90;

/** What is told of an event beside its kind: its plain facts. @param {number | null} rate samples per second */
export function eventFacts({ at, kind, ...facts }, rate) {
  if (kind === "cancel" && rate) return t("session.heardTo", { time: clock(facts.played_samples / rate) });
  return Object.entries(facts)
    .filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
    .map(([name, value]) => [name, TOLD[name]?.(value) ?? value])
    .map(([name, value]) => (has(`session.fact.${name}`) ? t(`session.fact.${name}`, { value }) : `${name.replaceAll("_", " ")} ${value}`))
    .join(" · ");
}

/** How an utterance ended, where that was not its natural end. */
export function outcomeText(outcome) {
  const key = [`session.outcome.${outcome}`, `error.${outcome}`].find(has);
  return key ? t(key) : t("session.outcome", { outcome });
}

/** Where listeners interrupted, in seconds of the merged audio. */
export function interruptions({ events = [], sample_rate: rate }) {
  return events.filter(({ kind, played_samples: played }) => kind === "cancel" && rate && Number.isFinite(played)).map(({ played_samples: played }) => played / rate);
}

/**
 * @param {HTMLElement} list @param {import("./narrative.js").Narrative} narrative @param {(seconds: number) => void} onSeek
 */
export function showEvents(list, narrative, onSeek) {
  list.replaceChildren(...narrative.events.map((event) => line(event, narrative, onSeek)));
  if (narrative.events.length === 0) list.append(h("li", { class: "quiet", "data-i18n": "session.noEvents" }));
}

function line(event, narrative, onSeek) {
  const time = h("time", { class: "timeline-time" }, clock(event.at));
  if (event.kind !== "utterance") {
    const key = `session.event.${event.kind}`;
    const kind = has(key) ? h("b", { "data-i18n": key }) : h("b", {}, event.kind.replaceAll("_", " "));
    return h("li", { class: "timeline-line", "data-kind": event.kind }, time, h("p", {}, kind, " ", setMessage(h("span", { class: "quiet" }), "text.plain", { text: () => eventFacts(event, narrative.sampleRate) })));
  }
  const told = narrative.utterances.find(({ index }) => index === event.index);
  const excerpt = event.text.trim().length > EXCERPT ? `${event.text.trim().slice(0, EXCERPT)}…` : event.text.trim();
  const facts = () =>
    [
      event.workers.length > 0 && t("session.onWorkers", { workers: event.workers.join(" → ") }),
      event.migrations > 0 && t("session.moved", { count: event.migrations }),
      told.firstAudioSeconds !== null && t("session.firstAudio", { time: latency(told.firstAudioSeconds) }),
      t("session.chunks", { count: told.chunks.length }),
      event.outcome && event.outcome !== "stop" && outcomeText(event.outcome),
    ]
      .filter(Boolean)
      .join(" · ");
  return h(
    "li",
    { class: "timeline-line", "data-kind": "utterance", "data-moved": event.migrations > 0 ? "" : null },
    time,
    h("div", {}, h("button", { class: "timeline-text", type: "button", dir: "auto", onclick: () => onSeek(told.from) }, excerpt), setMessage(h("p", { class: "quiet" }), "text.plain", { text: facts })),
  );
}
