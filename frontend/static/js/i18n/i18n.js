/**
 * The words of the pages in the reader's language: the browser's until one is chosen, which is then remembered.
 *
 * In markup an element names its message, and the English words stand in for it until the script runs:
 *   <h2 data-i18n="voices.title">Voice</h2>
 *   <textarea data-i18n-placeholder="text.placeholder"> <div data-i18n-label="voices.title">
 * In scripts `setMessage(element, key, values)` shows a message and `setLabel` names an element; both are said again
 * in the other language when it changes. `t(key, values)` is the bare text. A message is a text with {names} to fill
 * in, or a function of the values; a value that is a function is called each time the message is said.
 *
 * Pages with messages of their own add them before they show anything: addMessages({ en: {...}, zh: {...} }).
 */
import en from "./en/common.js";
import zh from "./zh/common.js";
import { local } from "../shared/page/storage.js";

export const LANGUAGES = { en: "English", zh: "中文" };
const KEY = "voxfleet.language";
const ATTRIBUTES = { label: "aria-label", placeholder: "placeholder", title: "title" };
const BARE = ".button-icon, .button-play, .side-button";
const MARKED = ["[data-i18n]", ...Object.keys(ATTRIBUTES).map((name) => `[data-i18n-${name}]`)].join(",");

const messages = { en: { ...en }, zh: { ...zh } };
/** Element -> key -> the values that its message was last said with. @type {WeakMap<Element, Map<string, object>>} */
const said = new WeakMap();
let current = firstLanguage();

/** The first of what was chosen and what the browser prefers that there are words for. */
function firstLanguage() {
  const asked = [local.getItem(KEY), ...(globalThis.navigator?.languages ?? [])];
  const known = asked.filter(Boolean).map((tag) => tag.slice(0, 2).toLowerCase());
  return known.find((code) => code in LANGUAGES) ?? "en";
}

/** @param {Record<string, Record<string, string | ((values: object) => string)>>} added by language, by key */
export function addMessages(added) {
  for (const [code, words] of Object.entries(added)) Object.assign(messages[code], words);
}

/** "en" or "zh", as shown now. */
export function language() {
  return current;
}

/** The reader's own form of the shown language, such as "en-US" or "de-CH" beside English words: for dates and numbers. */
export function locale() {
  const tags = globalThis.navigator?.languages ?? [];
  const own = tags.find((tag) => tag.slice(0, 2).toLowerCase() === current);
  const unspoken = tags.length > 0 && !tags.some((tag) => tag.slice(0, 2).toLowerCase() in LANGUAGES);
  return own ?? (unspoken ? tags[0] : current === "zh" ? "zh-CN" : "en-GB");
}

/** Whether the current language itself has this message. */
export function has(key) {
  return key in messages[current];
}

/** The text of a message: in the current language, else in English, else its key. */
export function t(key, values = {}) {
  const message = messages[current][key] ?? messages.en[key] ?? key;
  const now = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === "function" ? value() : value]),
  );
  if (typeof message === "function") return message(now);
  return message.replace(/\{(\w+)\}/g, (whole, name) => (name in now ? String(now[name]) : whole));
}

/** Shows a message as the text of an element. @template {Element} E @param {E} element @returns {E} */
export function setMessage(element, key, values = {}) {
  return say(element, "", key, values);
}

/** Names an element by a message. @param {"label" | "placeholder" | "title"} attribute */
export function setLabel(element, key, values = {}, attribute = "label") {
  return say(element, `-${attribute}`, key, values);
}

/** Takes an element's message away again, so that it keeps text of no language. */
export function clearMessage(element) {
  element.removeAttribute("data-i18n");
}

function say(element, suffix, key, values) {
  if (!said.has(element)) said.set(element, new Map());
  said.get(element).set(key, values);
  element.setAttribute(`data-i18n${suffix}`, key);
  translate(element);
  return element;
}

/** Says the messages of one element in the current language. @param {Element} element */
export function translate(element) {
  const values = (key) => said.get(element)?.get(key);
  const key = element.getAttribute("data-i18n");
  if (key) {
    const text = t(key, values(key));
    if (element.textContent !== text) element.textContent = text;
  }
  for (const [name, attribute] of Object.entries(ATTRIBUTES)) {
    const labelKey = element.getAttribute(`data-i18n-${name}`);
    if (labelKey) element.setAttribute(attribute, t(labelKey, values(labelKey)));
  }
  // A picture alone says little: its name is its tooltip.
  const bare = element.matches?.(BARE) && !element.hasAttribute("data-i18n-title");
  if (bare && element.hasAttribute("aria-label")) element.title = element.getAttribute("aria-label");
}

/** Says every message of the page in the current language. Pages call it once, when their script runs. */
export function translatePage() {
  document.documentElement.lang = current === "zh" ? "zh-CN" : current;
  for (const element of document.querySelectorAll(MARKED)) translate(element);
  delete document.documentElement.dataset.unsaid;
}

/** Shows and remembers a language; drawings listen to the window's "languageset". */
export function setLanguage(code) {
  current = code;
  local.setItem(KEY, code);
  translatePage();
  window.dispatchEvent(new Event("languageset"));
}
