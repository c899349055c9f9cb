/**
 * What the service found in a recording, each with what to do about it.
 */
import { h, icon } from "../shared/dom.js";
import { has, setMessage, t } from "../shared/i18n.js";
import { sentence } from "../shared/problems.js";

/** @param {{code: string, severity: "info" | "warning", message: string}[]} checks */
export function checkList(checks) {
  const items = checks.map(({ code, severity, message }) => {
    const words = h("span", {});
    const key = `check.${code}`;
    setMessage(words, "text.plain", { text: () => (has(key) ? t(key) : sentence(message)) });
    return h("li", { class: `check-item check-${severity}` }, icon(severity === "warning" ? "warning" : "check"), words);
  });
  return h("ul", { class: "checks" }, items);
}
