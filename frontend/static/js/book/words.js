/** The words of the book pages, added to those of the shared pieces. */
import en from "../i18n/book-en.js";
import zh from "../i18n/book-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });

export { setLabel, setMessage, t } from "../shared/i18n.js";
