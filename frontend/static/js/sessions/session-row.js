/**
 * One session of the list: a link to it, and the button that deletes it.
 */
import { h, icon } from "../shared/dom.js";
import { kindText, sizeFacts, titleOf, when } from "./facts.js";
import { setLabel, setMessage, t } from "./words.js";

/** @param {object} session of GET /api/sessions @param {(session: object) => void} onDelete asks, and deletes */
export function sessionRow(session, onDelete) {
  const { id, kind, state, created_at: at, shared } = session;
  const said = (element, text) => setMessage(element, "text.plain", { text });
  const remove = h("button", { class: "button-icon", type: "button", onclick: () => onDelete(session) }, icon("trash"));
  setLabel(remove, "sessions.deleteNamed", { title: () => titleOf(session) });
  remove.disabled = state === "active";
  return h(
    "li",
    { class: "session-row", "data-session": id, "data-state": state },
    h(
      "a",
      { class: "session-link", href: `/sessions/${encodeURIComponent(id)}` },
      h("span", { class: "session-kind", "data-kind": kind }, icon(kind === "live" ? "speaker" : "spark"), said(h("span"), () => kindText(kind))),
      h("span", { class: "session-name" }, said(h("span", { class: "session-title-text", dir: "auto" }), () => titleOf(session)), badge(state), shared && sharedBadge()),
      h("span", { class: "session-facts-text" }, said(h("span"), () => sizeFacts(session))),
      h("time", { class: "session-when", datetime: at }, said(h("span"), () => when(at))),
    ),
    remove,
  );
}

/** @param {string} state a complete session needs no word */
export function badge(state) {
  if (state === "complete") return null;
  return h("span", { class: "badge", "data-state": state, "data-i18n": `sessions.state.${state}` });
}

function sharedBadge() {
  return h("span", { class: "badge", "data-i18n": "sessions.shared", title: t("sessions.shared") });
}
