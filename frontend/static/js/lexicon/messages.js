/** Adds the words of the lexicon to the pages that show it. */
import en from "../i18n/en/lexicon.js";
import zh from "../i18n/zh/lexicon.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });
