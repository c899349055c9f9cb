/**
 * The words of the admin page, added to those of the shared pieces.
 */
import en from "../i18n/admin-en.js";
import zh from "../i18n/admin-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });

export { has, locale, setLabel, setMessage, t } from "../shared/i18n.js";
