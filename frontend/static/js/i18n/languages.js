/**
 * Names of languages and scripts in the reader's language.
 */
import { language } from "./i18n.js";

/** "en" -> "English"; what has no name stays a code. @param {"language" | "script"} type */
export function nameOf(code, type = "language") {
  try {
    return new Intl.DisplayNames(language() === "zh" ? "zh-CN" : "en", { type }).of(code) ?? code;
  } catch {
    return code; // a worker may announce what is no code at all
  }
}

/** ["en", "zh"] -> "English and Chinese" */
export function listOf(words) {
  return new Intl.ListFormat(language() === "zh" ? "zh-CN" : "en", { type: "conjunction" }).format(words);
}
