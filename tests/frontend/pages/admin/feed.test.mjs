/** What the admin page hears of the gateway: pushed, polled, with the token that it asks for. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterEach, describe, test } from "node:test";
import { AdminAccess, adoptToken } from "../../../../frontend/static/js/admin/access.js";
import { LiveFeed } from "../../../../frontend/static/js/admin/live-feed.js";
import { serverEvents } from "../../../../frontend/static/js/admin/server-events.js";
import { MemoryStorage } from "../../support/memory-storage.mjs";

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
