/** The words of the book pages, added to those of the shared pieces. */
import en from "../i18n/en/book.js";
import zh from "../i18n/zh/book.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });

export { setLabel, setMessage, t } from "../i18n/i18n.js";
