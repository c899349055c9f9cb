/**
 * What a reader looks for, in texts that others have written: capitals, accents and the form of a letter do not count.
 *
 *   const found = finder("cafe zoe");
 *   found("Café Zoë") // true
 */
const ACCENTS = /[\u0300-\u036f]/g;

/** A text as it is compared: two ways to write the same come to the same. */
export function folded(text) {
  return text.normalize("NFKD").replace(ACCENTS, "").toUpperCase();
}

/** @param {string} search @returns {(text: string) => boolean} whether a text has all of its words */
export function finder(search) {
  const words = folded(search).split(/\s+/).filter(Boolean);
  return (text) => {
    const read = folded(text);
    return words.every((word) => read.includes(word));
  };
}
