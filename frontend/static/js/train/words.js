/** The words of the training page, added to those of voices and of the shared pieces. */
import en from "../i18n/train-en.js";
import zh from "../i18n/train-zh.js";
import { addMessages } from "../shared/i18n.js";
import "../voices/messages.js";

addMessages({ en, zh });

export { language, setLabel, setMessage, t } from "../shared/i18n.js";
