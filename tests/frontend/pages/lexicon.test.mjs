/** The lexicon: which entries a search finds, and what is missing of a new one. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { matchingEntries, missingField } from "../../../frontend/static/js/lexicon/entries.js";

describe("the lexicon", () => {
  const entries = { gif: "jif", Nguyen: "Nwin", "重庆": "虫庆" };
  const words = (query) => matchingEntries(entries, query).map(([word]) => word);

  test("a search looks at words and at what is said, in any case", () => {
    assert.deepEqual(words(""), ["gif", "Nguyen", "重庆"]);
    assert.deepEqual(words(" NG"), ["Nguyen"]);
    assert.deepEqual(words("jif"), ["gif"]);
    assert.deepEqual(words("虫"), ["重庆"]);
    assert.deepEqual(words("nothing"), []);
  });

  test("an entry has a word and how it is said", () => {
    assert.equal(missingField({ word: " ", spoken: "x" }), "word");
    assert.equal(missingField({ word: "x", spoken: "" }), "spoken");
    assert.equal(missingField({ word: "x", spoken: "y" }), null);
  });
});
