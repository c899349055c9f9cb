/** The words of the strip and of warnings, added to those of the shared pieces. */
import en from "../i18n/welcome-en.js";
import zh from "../i18n/welcome-zh.js";
import { addMessages } from "../shared/i18n.js";

addMessages({ en, zh });
