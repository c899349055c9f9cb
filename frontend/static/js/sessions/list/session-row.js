/**
 * One session of the list: chosen, played, opened, spoken anew in the studio, or deleted.
 */
import { h, icon, setIcon } from "../../shared/page/dom.js";
import { kindText, seedText, sizeFacts, titleOf, when } from "../facts.js";
import { setLabel, setMessage, t } from "../words.js";

/**
 * @param {object} session of GET /api/sessions
 * @param {{chosen: boolean, choose: (session: object, chosen: boolean) => void,
 *   play: (session: object) => void, open: (session: object) => void, remove: (session: object) => void}} of
 */
export function sessionRow(session, of) {
  const { id, state } = session;
  const active = state === "active";
  const named = (element, key) => setLabel(element, key, { title: () => titleOf(session) });
  const button = (name, drawing, key, action) =>
    named(h("button", { class: `button-icon ${name}`, type: "button", disabled: active, onclick: () => action(session) }, icon(drawing)), key);
  const box = h("input", { type: "checkbox", disabled: active, onchange: ({ target }) => of.choose(session, target.checked) });
  box.checked = of.chosen;
  const play = button("session-play", "play", "sessions.playNamed", of.play);
  play.disabled = active || !(session.audio_seconds > 0);
  return h(
    "li",
    { class: "session-row", "data-session": id, "data-state": state },
    h("label", { class: "session-choice" }, named(box, "sessions.chooseNamed")),
    play,
    link(session),
    button("session-studio", "edit", "sessions.studioNamed", of.open),
    button("session-delete", "trash", "sessions.deleteNamed", of.remove),
    h("span", { class: "session-heard", "aria-hidden": "true" }),
  );
}

function link(session) {
  const { id, kind, state, created_at: at, shared } = session;
  const said = (element, text) => setMessage(element, "text.plain", { text });
  return h(
    "a",
    { class: "session-link", href: `/sessions/${encodeURIComponent(id)}` },
    h("span", { class: "session-kind", "data-kind": kind }, icon(kind === "live" ? "speaker" : "spark"), said(h("span"), () => kindText(kind))),
    h("span", { class: "session-name" }, said(h("span", { class: "session-title-text", dir: "auto" }), () => titleOf(session)), badge(state), shared && sharedBadge()),
    h(
      "span",
      { class: "session-about" },
      h("span", { class: "session-facts-text" }, said(h("span"), () => sizeFacts(session)), said(h("span", { class: "session-seed" }), () => seedText(session))),
      h("time", { class: "session-when", datetime: at }, said(h("span"), () => when(at))),
    ),
  );
}

/** Whether it plays, and how far it is. @param {HTMLElement} row @param {object} session @param {{playing: boolean, progress: number}} heard */
export function showHeard(row, session, { playing, progress }) {
  const button = row.querySelector(".session-play");
  setIcon(button, playing ? "pause" : "play");
  setLabel(button, playing ? "sessions.pauseNamed" : "sessions.playNamed", { title: () => titleOf(session) });
  row.style.setProperty("--heard", progress);
}

/** @param {string} state a complete session needs no word */
export function badge(state) {
  if (state === "complete") return null;
  return h("span", { class: "badge", "data-state": state, "data-i18n": `sessions.state.${state}` });
}

function sharedBadge() {
  return h("span", { class: "badge", "data-i18n": "sessions.shared", title: t("sessions.shared") });
}
