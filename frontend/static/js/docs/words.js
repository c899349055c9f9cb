/** The words of the page of the API, beside those of all pages. */
import en from "../i18n/docs-en.js";
import zh from "../i18n/docs-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });

export { setLabel, setMessage, t } from "../shared/i18n.js";
