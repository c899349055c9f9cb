/** Adds the words of the lexicon to the pages that show it. */
import en from "../i18n/lexicon-en.js";
import zh from "../i18n/lexicon-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });
