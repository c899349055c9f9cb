/** Adds the words of voices to the pages that show them. */
import en from "../i18n/voices-en.js";
import zh from "../i18n/voices-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });
