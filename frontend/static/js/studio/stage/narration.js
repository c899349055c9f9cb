/**
 * What the page says of an utterance: one line for each state, told again when the language changes.
 */
import { decimal, duration, latency, ratio } from "../../i18n/format.js";
import { t } from "../../i18n/i18n.js";

/** @param {string} state @param {import("../utterance.js").Utterance} utterance @param {object | null} outcome */
export function narrate(state, utterance, outcome) {
  const heard = utterance.samples ? duration(Math.round(utterance.audioSeconds)) : null;
  const orHeard = (key) => t(heard ? `${key}Heard` : key, { heard });
  switch (state) {
    case "connecting":
    case "queued":
      return t(`state.${state}`);
    case "streaming":
      return t("state.streaming", { worker: utterance.workerId });
    case "cancelled":
      return orHeard(outcome.asked ? "state.stopped" : "state.cancelled");
    case "failed":
      return orHeard("state.failed");
    case "replayed":
      return t("history.replaying", { text: utterance.request.text });
    default:
      return summary(utterance, outcome);
  }
}

function summary({ request, audioSeconds, firstAudioSeconds }, { rtf, finish_reason: reason, migrations }) {
  const facts = [
    t("summary.speech", { seconds: decimal(audioSeconds, 1) }),
    t("summary.first", { latency: latency(firstAudioSeconds) }),
    t("summary.rtf", { rtf: ratio(rtf) }),
    t("summary.seed", { seed: request.seed }),
    ["length", "runaway"].includes(reason) ? t(`summary.${reason}`) : null,
    migrations > 0 ? t("summary.moved", { count: migrations }) : null,
  ];
  return facts.filter(Boolean).join(" · ");
}
