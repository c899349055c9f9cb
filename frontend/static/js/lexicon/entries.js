/** The entries of a lexicon, as its sheet shows them. */
import { folded } from "../shared/page/search.js";

/** @param {Record<string, string>} entries @returns {[string, string][]} those that hold `query`, in any case */
export function matchingEntries(entries, query) {
  const wanted = folded(query.trim());
  return Object.entries(entries).filter(([word, spoken]) => folded(`${word}\n${spoken}`).includes(wanted));
}

/** What is missing of an entry that is to be added: the name of its field, or null. */
export function missingField({ word, spoken }) {
  if (!word.trim()) return "word";
  return spoken.trim() ? null : "spoken";
}
