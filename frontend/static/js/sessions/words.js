/**
 * The words of the session pages, added to those of the shared pieces.
 */
import en from "../i18n/en/sessions.js";
import zh from "../i18n/zh/sessions.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });

export { has, locale, setLabel, setMessage, t } from "../i18n/i18n.js";
