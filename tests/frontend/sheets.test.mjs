/** Which style sheets pages have. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";

const FOLDER = new URL("../../frontend/", import.meta.url);
const read = (path) => readFileSync(new URL(path, FOLDER), "utf8");
const linked = (markup) => [...markup.matchAll(/<link rel="stylesheet" href="\/(static\/[^"]+)">/g)].map(([, path]) => path);
const found = (text, pattern) => [...text.matchAll(pattern)].map(([, name]) => name);

const SHARED = linked(read("parts/head.html"));
const PAGES = readdirSync(FOLDER).filter((name) => name.endsWith(".html"));
const SHEETS = readdirSync(new URL("static/css/", FOLDER), { recursive: true })
  .filter((name) => name.endsWith(".css"))
  .map((name) => `static/css/${name}`);

describe("style sheets", () => {
  test("each is of some page", () => {
    const used = new Set([...SHARED, ...PAGES.flatMap((page) => linked(read(page)))]);
    assert.deepEqual(SHEETS.filter((sheet) => !used.has(sheet)), []);
  });

  for (const page of PAGES) {
    test(`what moves on ${page} is said how in one place`, () => {
      const text = [...SHARED, ...linked(read(page))].map(read).join("\n");
      const movements = found(text, /@keyframes ([\w-]+)/g);
      const moved = new Set(found(text, /animation: ([\w-]+)/g));
      assert.deepEqual([...moved].filter((name) => movements.filter((one) => one === name).length !== 1), []);
    });
  }
});
