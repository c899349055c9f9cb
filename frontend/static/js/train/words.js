/** The words of the training page, added to those of voices and of the shared pieces. */
import en from "../i18n/en/train.js";
import zh from "../i18n/zh/train.js";
import { addMessages } from "../i18n/i18n.js";
import "../voices/messages.js";

addMessages({ en, zh });

const MOST_NAMES = 3;

/** "1.wav, 2.wav, 3.wav …" @param {string[]} names */
export function shortList(names) {
  return names.slice(0, MOST_NAMES).join(", ") + (names.length > MOST_NAMES ? " …" : "");
}

export { language, setLabel, setMessage, t } from "../i18n/i18n.js";
