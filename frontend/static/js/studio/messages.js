/** The words of the strip and of warnings, added to those of the shared pieces. */
import en from "../i18n/en/welcome.js";
import zh from "../i18n/zh/welcome.js";
import { addMessages } from "../i18n/i18n.js";

addMessages({ en, zh });
