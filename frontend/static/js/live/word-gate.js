/**
 * Which part of a text that is being typed can be sent: whole words, so that none is corrected after it was sent.
 *
 *   takeWords("Good morning, ev")       // ["Good morning, ", "ev"]
 *   takeWords("今天天气")                // ["今天天气", ""]: every character is a word
 */
const IDEOGRAM = "\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff\\u3000-\\u303f\\uff01-\\uff60";
const BOUNDARY = new RegExp(`^[^]*[\\s${IDEOGRAM}]`, "u");
const TOKEN = new RegExp(`\\s*(?:[${IDEOGRAM}]|[^\\s${IDEOGRAM}]{1,6})|\\s+$`, "gu");

/** @param {string} text @returns {[string, string]} what ends with a word, and the rest */
export function takeWords(text) {
  const whole = text.match(BOUNDARY)?.[0] ?? "";
  return [whole, text.slice(whole.length)];
}

/** The text in pieces as a language model would bring them: parts of words, with the space before. */
export function tokensOf(text) {
  return text.match(TOKEN) ?? [];
}
