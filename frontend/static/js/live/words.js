/**
 * The words of the live page, added to those of the shared pieces.
 */
import en from "../i18n/en/live.js";
import zh from "../i18n/zh/live.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });

export { language, setLabel, setMessage, t } from "../i18n/i18n.js";
