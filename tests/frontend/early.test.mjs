/** What runs before a page's script: it remembers, and asks with the reader's key for what the page needs first. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, test } from "node:test";
import { runInNewContext } from "node:vm";
import { takeEarly } from "../../frontend/static/js/shared/service/early-answers.js";

const SOURCE = await readFile(new URL("../../frontend/static/js/shared/service/early.js", import.meta.url), "utf8");

/** Runs it in a page that remembers, and returns what it did. */
function run({ kept = {}, tab = {}, ask, listen, hash = "", denied }) {
  const storage = (values) => ({ getItem: (name) => values[name] ?? null });
  const asked = [];
  const page = {
    localStorage: storage(kept),
    sessionStorage: storage(tab),
    navigator: { language: "de" },
    document: { documentElement: { dataset: {} }, currentScript: { dataset: { ask, listen } } },
    location: { hash, pathname: "/sessions/ab", search: "?key=c" },
    URLSearchParams,
    AbortController,
    addEventListener: () => null,
    fetch: async (path, options) => {
      asked.push([path, options.headers?.authorization ?? options.headers?.["x-admin-token"]]);
      options.signal?.addEventListener("abort", () => asked.push([path, "ended"]));
      return `answer to ${path}`;
    },
  };
  page.globalThis = page;
  if (denied) Object.defineProperties(page, { localStorage: denied, sessionStorage: denied });
  runInNewContext(SOURCE, page);
  return { page, asked };
}

afterEach(() => delete globalThis.voxfleetEarly);

test("what the page names is asked for with the key of the tab", () => {
  const { asked } = run({ kept: { "voxfleet.apiKey": "old" }, tab: { "voxfleet.apiKey": "new" }, ask: "/ready /api/voices" });
  assert.deepEqual(asked, [["/ready", "Bearer new"], ["/api/voices", "Bearer new"]]);
});

test("a page of one thing asks for what its own address names", () => {
  assert.deepEqual(run({ ask: "/ready /api{page}" }).asked.map(([path]) => path), ["/ready", "/api/sessions/ab?key=c"]);
});

test("without a key none is sent, and a page that names nothing asks nothing", () => {
  assert.deepEqual(run({ ask: "/ready" }).asked, [["/ready", undefined]]);
  assert.deepEqual(run({}).asked, []);
});

test("a browser that keeps nothing is asked all the same", () => {
  const denied = { get: () => { throw new Error("denied"); } };
  assert.deepEqual(run({ ask: "/ready", denied }).asked, [["/ready", undefined]]);
});

test("an answer is there for the first who wants it", async () => {
  globalThis.voxfleetEarly = run({ ask: "/ready" }).page.voxfleetEarly;
  assert.equal(await takeEarly("/ready"), "answer to /ready");
  assert.equal(takeEarly("/ready"), undefined);
  assert.equal(takeEarly("/api/config"), undefined);
});

test("the admin page listens with its token, and ends that when it no longer wants it", async () => {
  const known = run({ tab: { "voxfleet.adminToken": "kept" }, listen: "/api/events" });
  assert.deepEqual(known.asked, [["/api/events", "kept"]]);
  assert.deepEqual(run({ tab: { "voxfleet.adminToken": "kept" }, listen: "/e", hash: "#token=given" }).asked, [["/e", "given"]]);
  assert.deepEqual(run({ listen: "/api/events" }).asked, []);
  assert.deepEqual(run({ tab: { "voxfleet.adminToken": "kept" }, ask: "/ready" }).asked, [["/ready", undefined]]);
  globalThis.voxfleetEarly = known.page.voxfleetEarly;
  const wanted = new AbortController();
  assert.equal(await takeEarly("/api/events", wanted.signal), "answer to /api/events");
  wanted.abort();
  assert.deepEqual(known.asked.at(-1), ["/api/events", "ended"]);
});

test("the theme and the language are there before the first paint", () => {
  const { page } = run({ kept: { "voxfleet.theme": "dark", "voxfleet.language": "zh" } });
  assert.equal(page.document.documentElement.dataset.theme, "dark");
  assert.equal(page.document.documentElement.lang, "zh-CN");
});

test("a page is not shown in English to who reads Chinese, and at once to everybody else", () => {
  assert.equal(run({ kept: { "voxfleet.language": "zh" } }).page.document.documentElement.dataset.unsaid, "");
  assert.equal(run({}).page.document.documentElement.dataset.unsaid, undefined);
});
