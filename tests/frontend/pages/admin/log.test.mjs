/** The event log on the admin page: its lines, and what they say in the reader's language. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { messageOf, textOf } from "../../../../frontend/static/js/admin/sections/event-words.js";
import { EventLines, MAX_LINES } from "../../../../frontend/static/js/admin/sections/event-lines.js";
import { setLanguage } from "../../../../frontend/static/js/i18n/i18n.js";
import en from "../../../../frontend/static/js/i18n/en/admin.js";
import zh from "../../../../frontend/static/js/i18n/zh/admin.js";
import { MemoryStorage } from "../../support/memory-storage.mjs";

/** Has the words said in a language, as a page does. */
function inLanguage(code) {
  globalThis.localStorage ??= new MemoryStorage();
  globalThis.document ??= { documentElement: { dataset: {} }, querySelectorAll: () => [] };
  globalThis.window ??= new EventTarget();
  setLanguage(code);
}

describe("EventLines", () => {
  const line = (id, kind, subject = "", message = "") => ({ id, at: `2026-01-01T00:00:${String(id).padStart(2, "0")}Z`, kind, subject, message });

  test("holds each line once, newest first, whatever order they come in", () => {
    const lines = new EventLines();
    assert.equal(lines.add([line(1, "started"), line(3, "worker_up")]), 2);
    assert.equal(lines.add([line(3, "worker_up"), line(2, "admin")]), 1);
    assert.deepEqual(lines.filtered("", "").map(({ id }) => id), [3, 2, 1]);
    assert.equal(lines.oldestId, 1);
  });

  test("is filtered by the family of a kind and by words in any order", () => {
    const lines = new EventLines();
    lines.add([line(1, "worker_up", "w0", "model x"), line(2, "worker_down", "w1", "Connection refused"), line(3, "admin", "w1", "drain")]);
    assert.deepEqual(lines.families, ["admin", "worker"]);
    assert.deepEqual(lines.filtered("worker", "refused W1").map(({ id }) => id), [2]);
    assert.deepEqual(lines.filtered("", "w1").map(({ id }) => id), [3, 2]);
    assert.deepEqual(lines.filtered("worker", "drain"), []);
  });

  test("is bounded", () => {
    const lines = new EventLines();
    lines.add(Array.from({ length: MAX_LINES + 20 }, (_, id) => ({ id, at: String(1e6 + id), kind: "x", subject: "", message: "" })));
    assert.equal(lines.filtered("", "").length, MAX_LINES);
    assert.equal(lines.filtered("", "")[0].id, MAX_LINES + 19);
  });
});

describe("a line of the log", () => {
  const line = { kind: "admin", subject: "w0", message: "drain, by the administrator at 10.0.0.1", saying: "drain", facts: { who: "10.0.0.1" } };

  test("is said in the reader's language, with what the page has a word for", (context) => {
    context.after(() => inLanguage("en"));
    assert.equal(messageOf(line), line.message);
    inLanguage("zh");
    assert.equal(messageOf(line), "排空，由 10.0.0.1 的管理员操作");
    assert.equal(messageOf({ message: "", saying: "page_off", facts: { page: "live", who: "::1" } }), "关闭“实时”，由 ::1 的管理员操作");
    assert.equal(messageOf({ message: "", saying: "take_cut", facts: { part: 2, flaw: "noisy" } }), "第 2 段有噪声，已截断");
    assert.match(textOf(line), /管理员 w0 排空/);
  });

  test("of somebody else's words, or of another version, is shown as it is", () => {
    assert.equal(messageOf({ message: "ConnectError" }), "ConnectError");
    assert.equal(messageOf({ message: "of tomorrow", saying: "of_tomorrow", facts: {} }), "of tomorrow");
    assert.equal(messageOf({ message: "", saying: "take_cut", facts: { part: 1, flaw: "purple" } }), "part 1 was purple and cut");
  });
});

test("the page says everything in both languages", () => {
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
});
