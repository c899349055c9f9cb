/**
 * What the service found in a recording, each with what to do about it.
 */
import { h, icon } from "../../shared/page/dom.js";
import { decimal } from "../../i18n/format.js";
import { has, setMessage, t } from "../../i18n/i18n.js";
import { problemText, sentence } from "../../shared/notices/problems.js";

/** More of them are seen on the waveform alone. */
const MOST_TIMES = 3;

/**
 * @param {{code: string, severity: "info" | "warning" | "error", message: string, regions?: object[]}[]} checks
 * @param {number | null} from second at which what was checked begins, for saying when something is heard; null: not said
 * @param {Record<string, HTMLElement>} remedies what mends it at once, by code
 * @param {(error: {code: string, message: string, param: string}) => string} errorText why nothing can be made of it
 */
export function checkList(checks, from = null, remedies = {}, errorText = problemText) {
  const items = checks.map((check) => {
    const words = setMessage(h("span", {}), "text.plain", { text: () => wordsOf(check, errorText) + timesOf(check, from) });
    const bad = check.severity !== "info";
    return h("li", { class: `check-item check-${check.severity}` }, icon(bad ? "warning" : "check"), words, remedies[check.code]);
  });
  return h("ul", { class: "checks" }, items);
}

function wordsOf({ code, severity, message }, errorText) {
  if (severity === "error") return errorText({ code, message, param: "audio" });
  return has(`check.${code}`) ? t(`check.${code}`) : sentence(message);
}

function timesOf({ regions = [] }, from) {
  if (from === null || regions.length === 0 || regions.length > MOST_TIMES) return "";
  const at = (seconds) => decimal(seconds + from, 1);
  const times = regions.map(({ start_seconds: start, end_seconds: end }) => `${at(start)}–${at(end)}`).join(", ");
  return ` ${t("check.at", { times })}`;
}
