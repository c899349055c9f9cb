/**
 * The words of the chat page, added to those of the shared pieces.
 */
import en from "../i18n/en/chat.js";
import zh from "../i18n/zh/chat.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });

export { setLabel, setMessage, t } from "../i18n/i18n.js";
