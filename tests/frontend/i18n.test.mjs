/** The words of the pages: every language has all of them, and they are filled in. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { addMessages, t } from "../../frontend/static/js/shared/i18n.js";
import { problemText } from "../../frontend/static/js/shared/problems.js";

const ROOT = new URL("../../frontend/", import.meta.url);
const FOLDER = new URL("static/js/i18n/", ROOT);
const load = async (name) => (await import(new URL(name, FOLDER))).default;
/** Messages that only the other language needs: English shows the server's own words. */
const ownWords = (key) => !/^(error|check)\./.test(key);
const english = readdirSync(FOLDER).filter((name) => /(^|-)en\.js$/.test(name));

describe("both languages", () => {
  for (const name of english) {
    test(`${name} and its Chinese have the same messages and the same gaps to fill`, async () => {
      const en = await load(name);
      const zh = await load(name.replace(/en\.js$/, "zh.js"));
      assert.deepEqual(Object.keys(zh).filter(ownWords).sort(), Object.keys(en).filter(ownWords).sort());
      for (const [key, words] of Object.entries(en)) {
        if (typeof words !== "string" || typeof zh[key] !== "string" || !ownWords(key)) continue;
        const gaps = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
        assert.deepEqual(gaps(zh[key]), gaps(words), key);
      }
    });
  }

  test("every message that a page names exists", async () => {
    const known = new Set();
    for (const name of english) Object.keys(await load(name)).forEach((key) => known.add(key));
    for (const page of readdirSync(ROOT).filter((name) => name.endsWith(".html"))) {
      const markup = readFileSync(new URL(page, ROOT), "utf8");
      for (const [, key] of markup.matchAll(/data-i18n(?:-\w+)?="([^"]+)"/g)) assert.ok(known.has(key), `${page}: ${key}`);
    }
  });
});

describe("t", () => {
  addMessages({ en: { "test.gap": "{a} and {b}", "test.counted": ({ n }) => (n === 1 ? "one" : "many") }, zh: {} });

  test("fills gaps, asks functions, and shows what is missing", () => {
    assert.equal(t("test.gap", { a: 1, b: () => "two" }), "1 and two");
    assert.equal(t("test.gap", { a: "{b}" }), "{b} and {b}");
    assert.equal(t("test.counted", { n: 1 }), "one");
    assert.equal(t("test.nowhere"), "test.nowhere");
  });

  test("an error in English is told in the server's words", () => {
    assert.equal(problemText({ code: "at_capacity", message: "2 of 2 slots" }), "2 of 2 slots");
  });

  test("places in line", () => {
    const place = (position) => t("queue.place", { position }).match(/\d+\w+/)[0];
    assert.deepEqual([2, 3, 11, 12, 13, 21, 22, 23].map(place), ["2nd", "3rd", "11th", "12th", "13th", "21st", "22nd", "23rd"]);
  });
});
