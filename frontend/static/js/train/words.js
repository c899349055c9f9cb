/** The words of the training page, added to those of voices and of the shared pieces. */
import en from "../i18n/en/train.js";
import zh from "../i18n/zh/train.js";
import { addMessages, has, t } from "../i18n/i18n.js";
import { problemText } from "../shared/notices/problems.js";
import "../voices/messages.js";

addMessages({ en, zh });

const MOST_NAMES = 3;

/** "1.wav, 2.wav, 3.wav …" @param {string[]} names */
export function shortList(names) {
  return names.slice(0, MOST_NAMES).join(", ") + (names.length > MOST_NAMES ? " …" : "");
}

/** What is wrong with one recording of many. @param {{code?: string, message: string}} error */
export function recordingProblem(error) {
  const key = `train.error.${error.code}`;
  return has(key) ? t(key) : problemText(error);
}

export { language, setLabel, setMessage, t } from "../i18n/i18n.js";
