/**
 * What to tell a reader of an error, and the one thing to do about it.
 *
 * Every code of the service has a sentence in every language (errors.js of i18n/), where it matters one for each field.
 * An error without a known code is told in the server's words.
 */
import en from "../../i18n/en/errors.js";
import zh from "../../i18n/zh/errors.js";
import { addMessages, has, t } from "../../i18n/i18n.js";

addMessages({ en, zh });

/** The action for a code; all others are tried again. */
const ACTIONS = {
  key: ["api_key_required", "invalid_api_key", "caller_gone", "priority_not_allowed", "client_unknown"],
  voice: [
    ...["unknown_voice", "ambiguous_voice", "voice_not_supported", "unknown_model", "built_in_voice"],
    ...["unknown_adapter", "ambiguous_adapter", "adapter_without_consent", "adapter_of_another_model"],
  ],
  consent: ["voice_without_consent"],
  text: ["empty_text", "text_too_long", "too_long", "invalid_ssml", "too_much_text"],
  settings: ["invalid_value", "out_of_range"],
  wav: ["body_too_large", "too_large", "invalid_audio"],
  sessions: ["disk_full", "too_many_jobs", "unknown_session", "no_audio", "unknown_job"],
  books: ["unknown_book"],
  conversation: ["context_length_exceeded"],
  reload: ["unknown_field", "invalid_body", "invalid_json", "invalid_message", "page_disabled", "not_found", "cross_site", "foreign_answer", "page_part"],
};
const ACTION_OF = Object.fromEntries(Object.entries(ACTIONS).flatMap(([action, codes]) => codes.map((code) => [code, action])));

/** @param {{message: string, code?: string | null, param?: string | null, name?: string}} error of the service, or of the browser */
export function problemText({ message, code, param, name }) {
  if (name === "NotSupportedError") return problemText({ message, code: "no_device" });
  const key = [`error.${code}.${param}`, `error.${code}`].find(has);
  return key ? t(key, { field: () => fieldName(param), reason: reasonOf(message, param) }) : sentence(message);
}

/** "again", "key", "voice", ...: what is most likely to help. @param {{code?: string | null}} error */
export function actionOf({ code }) {
  return ACTION_OF[code] ?? "again";
}

/** Whether an API key, or another one, would help. */
export function needsKey({ code }) {
  return code === "api_key_required" || code === "invalid_api_key";
}

/** Words of the server as a sentence: "there is no such job" -> "There is no such job." */
export function sentence(words) {
  const text = words.trim();
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?。！？]$/.test(whole) || whole === "" ? whole : `${whole}.`;
}

function fieldName(param) {
  const name = String(param ?? "").split(".").at(-1);
  return has(`field.${name}`) ? t(`field.${name}`) : t("field.other", { name: name || "?" });
}

/** The server's words without the field's name before them. */
function reasonOf(message, param) {
  const words = message.startsWith(`${param}: `) ? message.slice(param.length + 2) : message;
  return words.replace(/[.。]\s*$/, "");
}
