/** The words of the page of the API, beside those of all pages. */
import en from "../i18n/en/docs.js";
import zh from "../i18n/zh/docs.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });

export { setLabel, setMessage, t } from "../i18n/i18n.js";
