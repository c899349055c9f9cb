/** The words of the book pages, added to those of the shared pieces. */
import en from "../i18n/en/book.js";
import zh from "../i18n/zh/book.js";
import { addMessages, setMessage } from "../i18n/i18n.js";
import { problemText } from "../shared/notices/problems.js";

addMessages({ en, zh });

/**
 * Says how far a paragraph or one of its takes is; of one that failed, why.
 * @param {HTMLElement} element @param {string} state @param {{message: string, code?: string} | null} [error] of the take
 */
export function setTakeState(element, state, error) {
  if (state !== "failed" || !error) return setMessage(element, `block.state.${state}`);
  return setMessage(element, "block.failed", { reason: () => problemText(error) });
}

export { setLabel, setMessage, t } from "../i18n/i18n.js";
