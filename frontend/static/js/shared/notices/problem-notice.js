/**
 * A notice of what went wrong: the sentence, and one button that does something about it.
 *
 *   showProblem(byId("problem"), error, { again: () => this.#load() });
 *
 * A page gives what it can do; a key, the sessions and a fresh page are to be had everywhere. The sheet for a key opens
 * once: what is asked for again and again fails as often, and the notice stays until there is another key.
 */
import { h, icon } from "../page/dom.js";
import { setMessage } from "../../i18n/i18n.js";
import { openKeySheet } from "../service/key-sheet.js";
import { actionOf, needsKey, problemText } from "./problems.js";

const EVERYWHERE = {
  key: (error) => openKeySheet(error),
  sessions: () => location.assign("/sessions"),
  reload: () => location.reload(),
};

/** Where a page does not have the action. */
const INSTEAD = { consent: ["voice"] };

/** The name of the action for an error, of those that a page has; what is not there is tried again, or the page reloaded. */
export function chosenAction(error, actions) {
  return [actionOf(error), ...(INSTEAD[actionOf(error)] ?? []), "again"].find((name) => actions[name] ?? EVERYWHERE[name]) ?? "reload";
}

/**
 * @param {HTMLElement} element @param {{message: string, code?: string, param?: string}} error
 * @param {Record<string, () => void>} actions by name; see problems.js
 */
export function showProblem(element, error, actions = {}) {
  const name = chosenAction(error, actions);
  const told = !element.hidden && element.dataset.code === error.code;
  const act = () => {
    element.hidden = !needsKey(error);
    (actions[name] ?? EVERYWHERE[name])(error);
  };
  const button = h("button", { class: "button", type: "button", "data-action": name, onclick: act }, h("span", { "data-i18n": `problem.${name}` }));
  tellProblem(element, error).append(button);
  if (told || !needsKey(error)) return;
  window.addEventListener("apikey", () => element.dataset.code === error.code && (element.hidden = true), { once: true });
  openKeySheet(error);
}

/**
 * The notice for something that was pressed: it comes into view, wherever on the page that was.
 * @param {HTMLElement} element @param {{message: string, code?: string, param?: string}} error
 * @param {Record<string, () => void>} actions by name
 */
export function showFailure(element, error, actions) {
  showProblem(element, error, actions);
  element.scrollIntoView({ block: "nearest" });
}

/**
 * The sentence alone, for what is put right where it is said.
 * @param {HTMLElement} element @param {{message: string, code?: string, param?: string}} error
 * @param {string} [key] of a message that says it better
 */
export function tellProblem(element, error, key) {
  const words = setMessage(h("p"), key ?? "text.plain", { text: () => problemText(error) });
  words.title = error.message;
  element.replaceChildren(icon("warning"), words);
  element.hidden = false;
  element.dataset.code = error.code;
  return element;
}
