/** What the admin page is made of, without a browser: event stream, feed, token, history, words. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, describe, test } from "node:test";
import { AdminAccess, adoptToken } from "../../../frontend/static/js/admin/access.js";
import { LiveFeed } from "../../../frontend/static/js/admin/live-feed.js";
import { etaFields } from "../../../frontend/static/js/admin/sections/eta-section.js";
import { mixedText, otherBuild } from "../../../frontend/static/js/admin/fleet/builds.js";
import { isOnlyServing } from "../../../frontend/static/js/admin/fleet/serving.js";
import { messageOf, textOf } from "../../../frontend/static/js/admin/sections/event-words.js";
import { EventLines, MAX_LINES } from "../../../frontend/static/js/admin/sections/event-lines.js";
import { Choice } from "../../../frontend/static/js/admin/fleet/choice.js";
import { areaOf, nearest, pathOf, runsOf, timeTicks, valueTicks } from "../../../frontend/static/js/admin/sections/graph-scale.js";
import { requestFacts, requestName } from "../../../frontend/static/js/admin/fleet/request-row.js";
import { serverEvents } from "../../../frontend/static/js/admin/server-events.js";
import { storageFigures } from "../../../frontend/static/js/admin/sections/storage-section.js";
import { totals } from "../../../frontend/static/js/admin/fleet/summary.js";
import { rememberVoices } from "../../../frontend/static/js/admin/voice-names.js";
import { voiceFacts } from "../../../frontend/static/js/admin/sections/voices-section.js";
import { cacheText, movedText, remark, slotUses } from "../../../frontend/static/js/admin/fleet/worker-card.js";
import { setLanguage } from "../../../frontend/static/js/i18n/i18n.js";
import en from "../../../frontend/static/js/i18n/en/admin.js";
import zh from "../../../frontend/static/js/i18n/zh/admin.js";

class MemoryStorage extends Map {
  getItem(key) {
    return this.get(key) ?? null;
  }

  setItem(key, value) {
    this.set(key, value);
  }
}

/** Has the words said in a language, as a page does. */
function inLanguage(code) {
  globalThis.localStorage ??= new MemoryStorage();
  globalThis.document ??= { documentElement: { dataset: {} }, querySelectorAll: () => [] };
  globalThis.window ??= new EventTarget();
  setLanguage(code);
}

async function eventsOf(...pieces) {
  const body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
      controller.close();
    },
  });
  const events = [];
  for await (const event of serverEvents(body)) events.push(event);
  return events;
}

describe("server-sent events", () => {
  const stream = 'event: queue\r\ndata: {"a":\r\ndata: "é"}\r\n\r\n: ping\n\ndata:x\n\nevent: lost\ndata: cut';
  const expected = [
    { event: "queue", data: '{"a":\n"é"}' },
    { event: "message", data: "x" },
  ];

  test("fields, several data lines, comments, and CRLF; a cut event is dropped", async () => {
    assert.deepEqual(await eventsOf(stream), expected);
  });

  test("are the same wherever the bytes are cut", async () => {
    const bytes = new TextEncoder().encode(stream);
    for (let cut = 1; cut < bytes.length; cut += 1) {
      assert.deepEqual(await eventsOf(bytes.slice(0, cut), bytes.slice(cut)), expected);
    }
  });
});

/** A small HTTP server of the admin API, on a real socket. */
class FakeGateway {
  token = null;
  streams = true;
  seen = [];
  #server = createServer((request, response) => this.#answer(request, response));
  #fetch = globalThis.fetch;

  async open() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const origin = `http://127.0.0.1:${this.#server.address().port}`;
    globalThis.fetch = (path, options) => this.#fetch(new URL(path, origin), options);
    return this;
  }

  close() {
    globalThis.fetch = this.#fetch;
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request, response) {
    this.seen.push(`${request.method} ${request.url}`);
    if (this.token && request.headers["x-admin-token"] !== this.token) {
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: "token needed", code: "invalid_admin_token" } }));
    } else if (request.url === "/api/events" && this.streams) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('event: log\ndata: {"events":["logged"]}\n\n');
      response.write('event: workers\ndata: {"workers":["pushed"]}\n\n');
      this.stream = response;
    } else if (request.url === "/api/workers" || request.url === "/api/queue") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ workers: ["polled"], queue: [], running: [] }));
    } else {
      response.writeHead(404).end("no such page");
    }
  }
}

let gateway = null;
let feed = null;
afterEach(() => {
  feed?.close();
  gateway?.close();
  feed = gateway = null;
});

function watch(access, sleep, how = {}) {
  feed = new LiveFeed(access, { sleep, ...how });
  const seen = [];
  feed.addEventListener("workers", ({ detail }) => seen.push(detail.workers[0]));
  feed.addEventListener("log", ({ detail }) => seen.push(detail.events[0]));
  feed.addEventListener("mode", ({ detail }) => seen.push(detail.mode));
  const until = async (value) => {
    while (!seen.includes(value)) await new Promise((resolve) => setTimeout(resolve, 5));
    return seen;
  };
  feed.run();
  return until;
}

const access = () => new AdminAccess(() => Promise.reject(new Error("not asked for")), new MemoryStorage());
const shortly = () => new Promise((resolve) => setTimeout(resolve, 1));

describe("LiveFeed", () => {
  test("is pushed where the server streams", async () => {
    gateway = await new FakeGateway().open();
    assert.deepEqual(await watch(access(), shortly)("pushed"), ["logged", "live", "pushed"]);
    assert.deepEqual(gateway.seen, ["GET /api/events"]);
  });

  test("polls where it does not, and streams again when it can", async () => {
    gateway = await new FakeGateway().open();
    gateway.streams = false;
    const until = watch(access(), shortly);
    assert.deepEqual((await until("polled")).slice(0, 2), ["polling", "polled"]);
    assert.ok(!(await until("polled")).includes("logged"));
    gateway.streams = true;
    await until("live");
  });

  test("tells of a gateway that answers nothing, and asks on", async () => {
    const silent = { request: () => Promise.reject(new Error("no stream")), requestJson: () => new Promise(() => {}) };
    const until = watch(silent, shortly, { patience: 5 });
    await until("offline");
    silent.requestJson = () => Promise.resolve({ workers: ["polled"] });
    await until("polled");
  });

  test("polls on when a stream breaks", async () => {
    gateway = await new FakeGateway().open();
    const until = watch(access(), shortly);
    await until("live");
    gateway.streams = false;
    gateway.stream.destroy();
    await until("polled");
  });

  test("says that it is offline when nothing answers", async () => {
    gateway = await new FakeGateway().open();
    gateway.close();
    let streams = 0;
    const fetched = globalThis.fetch;
    globalThis.fetch = (path) => {
      if (String(path).endsWith("/api/events")) streams += 1;
      return Promise.reject(new TypeError("refused"));
    };
    const seen = await watch(access(), shortly)("offline");
    while (streams < 3) await shortly();
    globalThis.fetch = fetched;
    assert.deepEqual(seen, ["offline"]); // nothing in between: the page would ask for all of its parts
  });
});

describe("AdminAccess", () => {
  test("asks once for the token, however many requests need it, and keeps it", async () => {
    gateway = await new FakeGateway().open();
    gateway.token = "s3cret";
    const asked = [];
    const storage = new MemoryStorage();
    const guarded = new AdminAccess((wrong) => Promise.resolve(asked.push(wrong)).then(() => "s3cret"), storage);
    const answers = await Promise.all([guarded.requestJson("/api/workers"), guarded.requestJson("/api/queue")]);
    assert.equal(answers[0].workers[0], "polled");
    assert.deepEqual(asked, [false]);
    assert.deepEqual([...storage.values()], ["s3cret"]);
  });

  test("asks again, saying so, when the token was wrong", async () => {
    gateway = await new FakeGateway().open();
    gateway.token = "right";
    const answers = ["guess", "right"];
    const asked = [];
    const guarded = new AdminAccess((wrong) => Promise.resolve(asked.push(wrong)).then(() => answers.shift()), new MemoryStorage());
    await guarded.requestJson("/api/workers");
    assert.deepEqual(asked, [false, true]);
  });

  test("other refusals are errors with the server's words", async () => {
    gateway = await new FakeGateway().open();
    await assert.rejects(access().request("/api/nothing"), { status: 404 });
    gateway.token = "x";
    const declined = new AdminAccess(() => Promise.reject(new Error("dismissed")), new MemoryStorage());
    await assert.rejects(declined.request("/api/queue"), { message: "dismissed" });
  });
});

describe("a graph", () => {
  test("has round ticks that hold its largest value", () => {
    assert.deepEqual(valueTicks(0, 4, true), [0, 1, 2, 3, 4]);
    assert.deepEqual(valueTicks(4.2, 4, true), [0, 2, 4, 6]);
    assert.deepEqual(valueTicks(0.31, 0.2), [0, 0.1, 0.2, 0.3, 0.4]);
    assert.deepEqual(valueTicks(9, 4, true), [0, 5, 10]);
    for (const largest of [0.001, 0.7, 1, 3, 17, 99.9, 100, 12345]) {
      const ticks = valueTicks(largest, 0.001);
      assert.ok(ticks.at(-1) >= largest && ticks.length <= 6, `${largest}: ${ticks}`);
    }
  });

  test("has its ticks of time at full hours of the reader's clock, no more than fit", () => {
    const from = 1_800_000_123;
    for (const seconds of [3600, 21_600, 86_400, 604_800]) {
      const ticks = timeTicks(from, from + seconds, 8);
      assert.ok(ticks.length >= 3 && ticks.length <= 9, String(ticks.length));
      for (const { at } of ticks) assert.ok(at >= from && at <= from + seconds && new Date(at * 1000).getMinutes() % 5 === 0);
    }
  });

  test("breaks its line where nothing was measured, and shows a point that stands alone", () => {
    const points = [{ at: 0, a: 1 }, { at: 10, a: 2 }, { at: 20, a: null }, { at: 30, a: 3 }, { at: 60, a: 4 }, { at: 70, a: 5 }];
    const runs = runsOf(points, "a", 10);
    assert.deepEqual(runs.map((run) => run.map(({ a }) => a)), [[1, 2], [3], [4, 5]]);
    const [x, y] = [({ at }) => at, ({ a }) => a];
    assert.equal(pathOf(runs, x, y), "M0.0 1.0L10.0 2.0M30.0 3.0h0.01M60.0 4.0L70.0 5.0");
    assert.equal(areaOf(runs, x, y, 9), "M0.0 1.0L10.0 2.0V9H0.0ZM60.0 4.0L70.0 5.0V9H60.0Z");
  });

  test("knows the point under a pointer", () => {
    const points = [{ at: 0 }, { at: 10 }, { at: 40 }];
    assert.deepEqual([-5, 4, 24, 26, 99].map((at) => nearest(points, at)), [0, 0, 1, 2, 2]);
  });
});

describe("several requests at once", () => {
  const request = (ticket_id, tenant, protocol, voice = "Hazel") => ({ ticket_id, tenant, protocol, voice });
  const requests = [request("a", "key:shop", "openai"), request("b", "10.0.0.7", "openai"), request("c", "key:shop", "jobs"), { request_id: "r" }];

  test("are chosen by a kind that some of them have, or all", () => {
    const choice = new Choice();
    choice.list(requests);
    assert.deepEqual(choice.kinds.map(({ kind, value, count }) => `${kind} ${value} ${count}`), ["all  3", "tenant key:shop 2", "protocol openai 2"]);
    choice.add("tenant", "key:shop");
    assert.deepEqual(choice.tickets, ["a", "c"]);
    choice.add("all");
    assert.equal(choice.size, 3);
  });

  test("are no longer chosen when they have left", () => {
    const choice = new Choice();
    choice.list(requests);
    choice.add("all");
    choice.list(requests.slice(1));
    assert.deepEqual(choice.tickets, ["b", "c"]);
    choice.set("b", false);
    assert.ok(!choice.has("b") && choice.has("c"));
  });

  test("need no kinds where there is one", () => {
    const choice = new Choice();
    choice.list(requests.slice(0, 1));
    assert.deepEqual(choice.kinds, []);
  });
});

test("a request is called by its voice and how much it says", () => {
  assert.equal(requestName({ voice: "Hazel", characters: 1800, request_id: "r" }), "Hazel · 1,800 characters");
  assert.equal(requestName({ voice: "Hazel", characters: null, request_id: "r" }), "Hazel");
  assert.equal(requestName({ request_id: "r", ticket_id: "q" }), "r");
  rememberVoices([{ id: "v_1", name: "Hazel", kind: "custom" }, { id: "ruth", name: "ruth", kind: "built-in" }]);
  assert.deepEqual([requestName({ voice: "v_1" }), requestName({ voice: "ruth" })], ["Hazel", "Ruth"]);
  const known = { protocol: "openai", client: "curl 8.5.0", tenant: "key:shop", worker_id: "w0" };
  assert.equal(requestFacts(known), "OpenAI · curl 8.5.0 · of shop · on w0");
  assert.equal(requestFacts({ protocol: "of tomorrow" }), "of tomorrow");
});

test("of a drained worker the slots in use count, so that never more are used than there are", () => {
  const busy = { slots_total: 4, slots_used: 4 };
  const { slotsUsed, slotsTotal } = totals([{ state: "DRAINING", ...busy }, { state: "BUSY", ...busy }]);
  assert.deepEqual([slotsUsed, slotsTotal], [8, 8]);
});

test("the only worker that serves is one that nobody stands in for", () => {
  const workers = [{ id: "a", state: "IDLE" }, { id: "b", state: "DRAINING" }, { id: "c", state: "DOWN" }];
  assert.ok(isOnlyServing("a", workers));
  assert.ok(!isOnlyServing("a", [...workers, { id: "d", state: "BUSY" }]));
});

test("of several builds in one fleet there is a note, and of a worker its own", () => {
  const [own, other] = ["0.1.0+0123456789ab", "0.1.0+fedcba987654"];
  const fleet = [{ state: "IDLE", build: own }, { state: "BUSY", build: other }, { state: "LOADING", build: other }];
  assert.equal(mixedText(own, fleet), `Several builds run. This gateway: ${own}; workers: ${own} (1) · ${other} (2).`);
  assert.deepEqual(fleet.map((worker) => otherBuild(own, worker)), ["", `Build: ${other}`, `Build: ${other}`]);
  assert.equal(mixedText(own, [{ state: "IDLE" }]), `Several builds run. This gateway: ${own}; workers: one that does not say (1).`);
});

test("where one build runs, or a gateway of old says nothing of builds, no build is mentioned", () => {
  const own = "0.1.0+0123456789ab";
  const gone = { state: "DOWN", build: "0.0.9" };
  for (const [build, workers] of [[own, [{ state: "IDLE", build: own }, gone]], [undefined, [{ state: "IDLE" }]], [own, []]]) {
    assert.equal(mixedText(build, workers), null);
    assert.ok(workers.every((worker) => otherBuild(build, worker) === ""));
  }
});

test("totals count the slots of workers that serve, and the slowest worker's first audio", () => {
  const worker = (state, used, audio, more) => ({ state, slots_total: 4, slots_used: used, counters: { audio_seconds: audio, errors: 1 }, ...more });
  const fleet = [
    worker("BUSY", 3, 10, { first_audio_p95_seconds: 0.2, errors: 2, live_active: 1, live_paused: 2, migrations: 5 }),
    worker("IDLE", 0, 5, { first_audio_p95_seconds: null }),
    worker("DRAINING", 1, 0, { first_audio_p95_seconds: 0.4 }),
    { state: "DOWN", slots_total: 0, slots_used: 0 },
  ];
  assert.deepEqual(totals(fleet), {
    workers: 4, serving: 2, slotsTotal: 9, slotsUsed: 4, live: 3, firstAudioSeconds: 0.4, audioSeconds: 15, errors: 4, migrations: 5,
  });
  assert.equal(totals([]).firstAudioSeconds, null);
});

test("a worker that needs attention says why", () => {
  assert.equal(remark({ state: "IDLE" }), null);
  assert.equal(remark({ state: "LOADING", loading: { stage: "weights", progress: 0.42 } }), "Loading weights, 42 %");
  assert.equal(remark({ state: "ERROR", error: "out of memory" }), "out of memory");
  assert.equal(remark({ state: "DOWN", last_failure: "connection refused" }), "connection refused");
  assert.equal(remark({ state: "DOWN", restarting: true, last_failure: "it left" }), "Ending, to be started again.");
});

test("a request is described by what is known of it", () => {
  assert.equal(requestFacts({ waited_seconds: 3, eta_seconds: 4.2 }), "waited 3 s · starts in 5 s");
  assert.equal(requestFacts({ waited_seconds: 3, eta_seconds: null }), "waited 3 s · start unknown");
  assert.equal(requestFacts({ tenant: "key:shop", priority: "bulk", waited_seconds: 3 }), "of shop · bulk · waited 3 s");
  assert.equal(requestFacts({ tenant: "10.0.0.7", priority: "default", waited_seconds: 3 }), "of 10.0.0.7 · waited 3 s");
  assert.equal(requestFacts({ mode: "DUPLEX_PAUSED", worker_id: "w0" }), "live, paused · on w0");
  assert.equal(requestFacts({ worker_id: "w0", running_seconds: 65.2, attempt: 2 }), "on w0 · for 1 min 5 s · attempt 2");
});

test("live sessions of a worker are counted by what they do", () => {
  assert.equal(slotUses({}), "");
  assert.equal(slotUses({ live_active: 2, live_paused: 0 }), "2 live");
  assert.equal(slotUses({ live_active: 0, live_paused: 1 }), "0 live, 1 paused");
  assert.equal(slotUses({ slots_of_others: 3 }), "3 of other gateways");
  assert.equal(slotUses({ live_active: 1, slots_of_others: 2 }), "1 live · 2 of other gateways");
});

test("the cache of a worker is told by where positions were, and by what moved", () => {
  const counters = { kv_device_positions: 60, kv_host_positions: 15, kv_computed_positions: 25 };
  assert.equal(cacheText(counters), "60 % · 15 %");
  assert.equal(cacheText({ kv_device_positions: 0, kv_host_positions: 0, kv_computed_positions: 0 }), "–");
  assert.equal(cacheText({}), "–");
  assert.equal(movedText({ kv_stored_bytes: 3 << 20, kv_brought_bytes: 512 }), "3.0 MiB · 512 B");
  assert.equal(movedText({ kv_stored_bytes: 0, kv_brought_bytes: 0 }), "–");
});

test("settings are the numbers of an answer, with their limits where there are some", () => {
  const answer = { prior_seconds: 5, alpha: 0.3, note: "x", limits: { alpha: [0.01, 1] } };
  assert.deepEqual(etaFields(answer), [["prior_seconds", 5, null], ["alpha", 0.3, [0.01, 1]]]);
});

test("a voice is described by what an operator asks of it", () => {
  assert.equal(voiceFacts({ kind: "built-in" }), "built-in");
  const custom = { kind: "custom", language: "en", audio_seconds: 4.25, has_transcript: true, tags: ["calm"], usable: false };
  assert.equal(voiceFacts(custom), "custom · en · 4.3 s · with transcript · calm · no consent");
});

test("storage without limits has none to show", () => {
  const none = { voices: null, free: null, limit: null, ownerLimit: null, floor: null, days: null };
  assert.deepEqual(storageFigures({ count: 3, bytes: 10 }), { count: 3, used: 10, ...none });
});

test("storage tells all limits, and what voices and others take", () => {
  const limits = { max_storage_gb: 20, max_owner_gb: 5, min_free_disk_gb: 1, retention_days: 90 };
  const figures = storageFigures({ count: 0, bytes: 0, voices_bytes: 7, free_bytes: 8, limits });
  const expected = { voices: 7, free: 8, limit: 20e9, ownerLimit: 5e9, floor: 1e9, days: 90 };
  assert.deepEqual(figures, { count: 0, used: 0, ...expected });
});

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

describe("the token in the address", () => {
  test("is taken over and out of the address", () => {
    const storage = new MemoryStorage();
    const shown = [];
    const history = { state: null, replaceState: (state, title, address) => shown.push(address) };
    adoptToken({ hash: "#token=a%2Bb_-", pathname: "/admin", search: "?lang=en" }, history, storage);
    assert.equal(storage.getItem("voxfleet.adminToken"), "a+b_-");
    assert.deepEqual(shown, ["/admin?lang=en"]);
  });

  test("is left alone where there is none", () => {
    const storage = new MemoryStorage();
    adoptToken({ hash: "#workers", pathname: "/admin", search: "" }, { replaceState: assert.fail }, storage);
    assert.equal(storage.getItem("voxfleet.adminToken"), null);
  });
});
