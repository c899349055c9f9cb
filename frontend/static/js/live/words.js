/**
 * The words of the live page, added to those of the shared pieces.
 */
import en from "../i18n/live-en.js";
import zh from "../i18n/live-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });

export { language, setLabel, setMessage, t } from "../shared/i18n.js";
