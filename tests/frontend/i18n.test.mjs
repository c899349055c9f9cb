/** The words of the pages: every language has all of them, and they are filled in. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { addMessages, t } from "../../frontend/static/js/i18n/i18n.js";
import { integer } from "../../frontend/static/js/i18n/format.js";
import { chosenAction } from "../../frontend/static/js/shared/notices/problem-notice.js";
import { problemText } from "../../frontend/static/js/shared/notices/problems.js";

const ROOT = new URL("../../frontend/", import.meta.url);
const FOLDER = new URL("static/js/i18n/", ROOT);
const load = async (name) => (await import(new URL(name, FOLDER))).default;
const filesOf = (code) => readdirSync(new URL(`${code}/`, FOLDER)).map((name) => `${code}/${name}`);
const english = filesOf("en");

/** Codes of errors in the sources of a package; other services' protocols have shapes of their own, which no page meets. */
function codesOf(name) {
  const source = sourceOf(name);
  const patterns = [
    /ApiError\(\s*\d+,\s*"(\w+)"/g,
    /FieldError\(\s*"[\w.]+",\s*"(\w+)"/g,
    /_refusal\(\s*"(\w+)"/g,
    /Check\("(audio_\w+)", "error"/g,
    /"(\w+_unavailable)"/g,
    /^    "(audio_\w+)": f?"/gm,
    /RequestError\((?:[^()]|\([^()]*\))*"\w+",\s*(?:code=)?"(\w+)",?\s*\)/g,
    /^SLOW_CLIENT = "(\w+)"$/gm,
  ];
  const ofWorkers = source.match(/class ErrorCode[^]*?\n\n\n/)?.[0] ?? "";
  return [...found(ofWorkers, / = "(\w+)"/g), ...patterns.flatMap((pattern) => found(source, pattern))];
}

function sourceOf(name) {
  const folder = new URL(`../../${name}/`, import.meta.url);
  const files = readdirSync(folder, { recursive: true }).filter((file) => file.endsWith(".py") && !file.startsWith("protocols/"));
  return files.map((file) => readFileSync(new URL(file, folder), "utf8")).join("\n");
}

function found(text, pattern) {
  return [...text.matchAll(pattern)].map(([, name]) => name);
}

const namesIn = (name, pattern) => found(sourceOf(name), pattern);

describe("both languages", () => {
  test("have the same files", () => {
    assert.ok(english.length > 5, String(english.length));
    assert.deepEqual(filesOf("zh"), english.map((name) => name.replace("en/", "zh/")));
  });

  for (const name of english) {
    test(`${name} and its Chinese have the same messages and the same gaps to fill`, async () => {
      const en = await load(name);
      const zh = await load(name.replace("en/", "zh/"));
      assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
      for (const [key, words] of Object.entries(en)) {
        if (typeof words !== "string" || typeof zh[key] !== "string") continue;
        const gaps = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
        assert.deepEqual(gaps(zh[key]), gaps(words), key);
      }
    });
  }

  test("every code of the service has a sentence", async () => {
    const words = await load("en/errors.js");
    const codes = ["gateway", "worker", "models", "engine"].flatMap(codesOf);
    assert.ok(codes.length > 100, String(codes.length));
    for (const code of codes) assert.ok(`error.${code}` in words, code);
    for (const [key, text] of Object.entries(words)) {
      if (key.startsWith("error.")) assert.match(text, /^[A-Z{].*\.$/, key);
    }
  });

  test("every sentence about an error is of one that the service or a page tells", async () => {
    const documents = readFileSync(new URL("../docs/errors.md", ROOT), "utf8");
    const scripts = readdirSync(ROOT, { recursive: true }).filter((name) => name.endsWith(".js") && !name.includes("i18n/"));
    const pages = scripts.map((name) => readFileSync(new URL(name, ROOT), "utf8")).join("\n");
    const packages = ["gateway", "worker", "sockets", "models", "engine"].flatMap((name) => namesIn(name, /"([a-z_]+)"/g));
    const told = new Set([...found(documents, /`(\w+)`/g), ...found(pages, /\b([a-z]\w+)\b/g), ...packages]);
    const keys = Object.keys(await load("en/errors.js")).filter((key) => key.startsWith("error."));
    assert.deepEqual(keys.filter((key) => !told.has(key.split(".")[1])), []);
  });

  test("every event of the log, and of a session, has a name", async () => {
    const [log, session] = [await load("en/admin.js"), await load("en/sessions.js")];
    const kinds = namesIn("gateway", /log\.say\(\s*"(\w+)"/g);
    assert.ok(kinds.length > 15, String(kinds.length));
    for (const kind of kinds) {
      assert.ok(`admin.kind.${kind}` in log, kind);
      assert.ok(`admin.family.${kind.split("_")[0]}` in log, kind);
    }
    const sayings = found(sourceOf("gateway").match(/^SAYINGS = [^]*?^}/m)[0], /^    "(\w+)": /gm);
    assert.ok(sayings.length > 25, String(sayings.length));
    for (const saying of sayings) assert.ok(`admin.saying.${saying}` in log, saying);
    for (const kind of namesIn("gateway", /(?<!span)\.event\(\s*"(\w+)"/g)) assert.ok(`session.event.${kind}` in session, kind);
  });

  test("every message that a page names exists", async () => {
    const known = new Set();
    for (const name of english) Object.keys(await load(name)).forEach((key) => known.add(key));
    for (const page of readdirSync(ROOT).filter((name) => name.endsWith(".html"))) {
      const markup = readFileSync(new URL(page, ROOT), "utf8");
      for (const [, key] of markup.matchAll(/data-i18n(?:-\w+)?="([^"]+)"/g)) assert.ok(known.has(key), `${page}: ${key}`);
    }
  });

  test("every message is said by some page, by its whole name or by one that is put together", async () => {
    const files = readdirSync(ROOT, { recursive: true }).filter((name) => /\.(html|js)$/.test(name) && !/i18n\/(en|zh)\//.test(name));
    const source = files.map((name) => readFileSync(new URL(name, ROOT), "utf8")).join("\n");
    const whole = new Set(found(source, /["'`]([\w.-]+)["'`]/g));
    const beginnings = found(source, /`([\w-]+\.[\w.-]*)\$\{/g);
    const ends = found(source, /`\$\{\w+\}([\w.-]+)`/g);
    for (const name of english) {
      for (const key of Object.keys(await load(name))) {
        const composed = beginnings.some((part) => key.startsWith(part)) || ends.some((part) => key.endsWith(part));
        assert.ok(whole.has(key) || composed, `${name}: ${key}`);
      }
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

  test("an error is a sentence, of its field where that has one, and in the server's words where its code is unknown", () => {
    const told = (error) => problemText({ message: "the server says so", ...error });
    assert.equal(told({ code: "at_capacity" }), "The gateway is at capacity.");
    assert.equal(told({ code: "invalid_value", param: "language" }), "Write the language as a code, such as en, de or zh-CN.");
    const seed = { code: "invalid_value", param: "seed", message: "seed: must be less than 9" };
    assert.equal(told(seed), "The seed cannot be used: must be less than 9.");
    assert.equal(told({ code: "missing_field", param: "worker_x" }), "A value (worker_x) is missing.");
    assert.equal(told({ code: "missing_field", param: "file" }), "The file is empty.");
    assert.equal(told({ code: "of_tomorrow" }), "The server says so.");
    assert.equal(problemText(new DOMException("no source", "NotSupportedError")), "This browser cannot play the audio (no source).");
  });

  test("one thing can be done about it, of what the page can do", () => {
    const page = { again: () => null, voice: () => null };
    const chosen = (code) => chosenAction({ code }, page);
    assert.deepEqual(["queue_full", "unknown_voice", "unknown_adapter", "voice_without_consent", "text_too_long", "api_key_required"].map(chosen), ["again", "voice", "voice", "voice", "again", "key"]);
    assert.equal(chosenAction({ code: "queue_full" }, {}), "reload");
  });

  test("dates and numbers are the reader's, also of one whose language the pages lack", (context) => {
    const known = Object.getOwnPropertyDescriptor(globalThis, "navigator");
    context.after(() => (known ? Object.defineProperty(globalThis, "navigator", known) : delete globalThis.navigator));
    const written = (...languages) => {
      Object.defineProperty(globalThis, "navigator", { value: { languages }, configurable: true });
      return integer(10482);
    };
    assert.deepEqual([written("en-US"), written("de-DE"), written("de-DE", "en-US")], ["10,482", "10.482", "10,482"]);
  });

  test("places in line", () => {
    const place = (position) => t("queue.place", { position }).match(/\d+\w+/)[0];
    assert.deepEqual([2, 3, 11, 12, 13, 21, 22, 23].map(place), ["2nd", "3rd", "11th", "12th", "13th", "21st", "22nd", "23rd"]);
  });
});
