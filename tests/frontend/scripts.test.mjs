/** Which letters of a text a model cannot read. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { unreadScripts } from "../../frontend/static/js/studio/request/scripts.js";

describe("unreadScripts", () => {
  for (const [text, languages, expected] of [
    ["Добрый день", ["en"], ["Cyrl"]],
    ["Добрый день", ["ru", "en"], []],
    ["你好，世界", ["en"], ["Hani"]],
    ["你好，世界", ["en", "zh-CN"], []],
    ["こんにちは世界", ["zh"], ["Hrkt"]],
    ["안녕하세요", ["en", "zh"], ["Hang"]],
    ["नमस्ते दुनिया", ["en"], ["Deva"]],
    ["صباح الخير", ["en"], ["Arab"]],
    ["Good day", ["zh"], []],
    ["42!", ["en"], []],
    ["", ["en"], []],
    ["Добрый день", [], []],
    ["A sentence with one word, мир, in the middle of it.", ["en"], []],
  ]) {
    test(`${text || "nothing"} for ${languages.join(", ") || "whatever it speaks"}`, () => {
      assert.deepEqual(unreadScripts(text, languages), expected);
    });
  }
});
