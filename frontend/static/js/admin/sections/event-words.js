/**
 * What a line of the event log says in the reader's language. The gateway names its saying and the facts of it; words
 * of somebody else (an error of a worker, a line of an older version) are shown as they are.
 */
import { has, t } from "../words.js";

/** Facts that are names of a fixed set, and where their words are. */
const NAMED = { page: "admin.page", reason: "admin.fact.reason", flaw: "admin.fact.flaw" };

/** @param {{message: string, saying?: string, facts?: Record<string, string | number>}} line */
export function messageOf({ message, saying, facts = {} }) {
  const key = `admin.saying.${saying}`;
  if (!has(key)) return message;
  const told = Object.entries(facts).map(([name, value]) => [name, factOf(name, value)]);
  return t(key, Object.fromEntries(told));
}

function factOf(name, value) {
  const key = `${NAMED[name]}.${value}`;
  return name in NAMED && has(key) ? t(key) : String(value).replace(/^key:/, "");
}

/** The kind in words, as it is where the page does not know it. */
export function kindOf({ kind }) {
  const key = `admin.kind.${kind}`;
  return has(key) ? t(key) : kind.replaceAll("_", " ");
}

/** All of a line that is shown, for a filter by words. */
export function textOf(line) {
  return `${kindOf(line)} ${line.subject} ${messageOf(line)}`;
}
