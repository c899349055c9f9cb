/**
 * The head of a recording's page: its title, which its owner can edit, what it is, and what can be done with it.
 */
import { h, icon } from "../../shared/page/dom.js";
import { badge } from "../list/session-row.js";
import { kindText, seedText, sizeFacts, titleOf, when } from "../facts.js";
import { setLabel, setMessage } from "../words.js";

const MAX_TITLE = 160;

/**
 * The title, with a pencil where it may be changed.
 * @param {HTMLElement} place @param {object} session @param {((title: string) => Promise<boolean>) | null} save
 */
export function showTitle(place, session, save) {
  const heading = setMessage(h("h1", { id: "session-name", dir: "auto" }), "text.plain", { text: () => titleOf(session) });
  const pencil = h("button", { class: "button-icon", type: "button", id: "edit-title" }, icon("edit"));
  setLabel(pencil, "session.editTitle");
  pencil.addEventListener("click", () => edit(place, session, save));
  const parts = [heading, badge(session.state), save && pencil];
  place.replaceChildren(...parts.filter(Boolean));
}

function edit(place, session, save) {
  const input = h("input", { type: "text", id: "title-input", dir: "auto", maxlength: MAX_TITLE, value: session.title, autocomplete: "off" });
  setLabel(input, "session.title");
  const form = h("form", { class: "title-form" }, input, h("button", { class: "button", "data-i18n": "session.save" }));
  const back = () => {
    showTitle(place, session, save);
    place.querySelector("#edit-title").focus();
  };
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await save(input.value.trim())) back();
  });
  input.addEventListener("keydown", (event) => event.key === "Escape" && !event.isComposing && back());
  place.replaceChildren(form);
  input.select();
  input.focus();
}

/** @param {HTMLElement} place @param {object} session */
export function showFacts(place, session) {
  const text = () => [kindText(session.kind), when(session.created_at), sizeFacts(session), seedText(session)].filter(Boolean).join(" · ");
  setMessage(place, "text.plain", { text });
}

/** A button of the head. @param {string} key of its message */
export function actionButton(id, iconName, key, onclick) {
  return h("button", { class: "button", id, type: "button", onclick }, icon(iconName), h("span", { "data-i18n": key }));
}
