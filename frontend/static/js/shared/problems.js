/**
 * What to tell a reader of an error: the server's own words, unless the reader's language has some for its code.
 */
import { has, language, t } from "./i18n.js";

/** @param {{message: string, code?: string | null}} error */
export function problemText({ message, code }) {
  const key = `error.${code}`;
  return language() !== "en" && has(key) ? t(key, { message }) : message;
}

/** Whether an API key, or another one, would help. */
export function needsKey({ code }) {
  return code === "api_key_required" || code === "invalid_api_key";
}
