/** Adds the words of voices to the pages that show them. */
import en from "../i18n/en/voices.js";
import zh from "../i18n/zh/voices.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });
