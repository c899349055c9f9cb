/** The JavaScript client over HTTP: what it sends, what it makes of the answers. */
import assert from "node:assert/strict";
import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { ApiError, VoxFleet } from "../../../frontend/static/js/client/voxfleet.js";
import { textOf } from "../../../frontend/static/js/shared/files/text-of.js";

describe("VoxFleet over HTTP", () => {
  let server;
  afterEach(() => server.close());

  /** A service that notes requests and gives one answer. */
  async function service(status, answer) {
    const seen = [];
    server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      seen.push({ method: request.method, url: request.url, headers: request.headers, body });
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(answer));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${server.address().port}/`;
    return { seen, fleet: new VoxFleet({ url, apiKey: "secret" }) };
  }

  test("a clip is asked for with the key and the options", async () => {
    const { seen, fleet } = await service(200, {});
    await fleet.speak("Hi.", { voice: "slt", format: "mp3" });
    assert.equal(seen[0].url, "/tts");
    assert.equal(seen[0].headers.authorization, "Bearer secret");
    assert.deepEqual(JSON.parse(seen[0].body), { text: "Hi.", voice: "slt", format: "mp3" });
  });

  test("all books are asked for, page by page", async () => {
    const asked = [];
    const pages = [{ books: [{ id: "b_2" }], next_before: "1.b_2" }, { books: [{ id: "b_1" }], next_before: null }];
    server = createServer((request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(pages[asked.push(request.url) - 1]));
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const fleet = new VoxFleet({ url: `http://127.0.0.1:${server.address().port}` });
    assert.deepEqual((await fleet.books.list()).map(({ id }) => id), ["b_2", "b_1"]);
    assert.deepEqual(asked, ["/api/books", "/api/books?before=1.b_2"]);
  });

  test("what makes something is sent again under its key where no answer came, and nothing else is", async (t) => {
    const { seen, fleet } = await service(200, { job: { id: "j" }, training: { id: "t" }, recording: {}, id: "x" });
    const { setTimeout: wait } = globalThis;
    const isPause = (next, ms) => [500, 2000].includes(ms);
    t.mock.method(globalThis, "setTimeout", (...args) => (isPause(...args) ? wait(args[0], 0) : wait(...args)));
    const ways = [
      () => fleet.startJob("Hi."),
      () => fleet.books.create({ title: "A book", blocks: [] }),
      () => fleet.trainings.create({ name: "Anna" }),
      () => fleet.trainings.addRecording("t", new Blob(["audio"]), { transcript: "Hi." }),
      () => fleet.createVoice({ name: "Anna", audio: new Blob(["audio"]) }),
      () => fleet.createAdapter({ name: "Anna", config: "{}", weights: new Blob(["weights"]) }),
    ];
    for (const make of ways) {
      const asked = [];
      const cut = (request) => {
        asked.push(request.headers["idempotency-key"]);
        if (asked.length < 3) request.socket.destroy();
      };
      server.on("request", cut);
      await make();
      server.off("request", cut);
      assert.equal(asked.length, 3);
      assert.match(asked[0], /^[0-9a-f]{32}$/);
      assert.deepEqual(new Set(asked).size, 1);
    }
    assert.equal(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size, ways.length);
    let tries = 0;
    server.prependListener("request", (request) => {
      tries += 1;
      request.socket.destroy();
    });
    await assert.rejects(fleet.cancelJob("j"), { code: "no_answer" });
    assert.equal(tries, 1);
    await assert.rejects(fleet.startJob("Hi."), { code: "no_answer" });
    assert.equal(tries, 4);
  });

  test("a socket is opened with the key, encoded where it is no token", async (t) => {
    await service(200, {});
    const opened = [];
    const { WebSocket } = globalThis;
    t.after(() => (globalThis.WebSocket = WebSocket));
    globalThis.WebSocket = class extends EventTarget {
      constructor(address, protocols) {
        super();
        opened.push(protocols.at(-1));
      }
    };
    for (const apiKey of ["secret", "a key/1+2=?"]) new VoxFleet({ url: "http://a", apiKey }).stream("Hi.");
    assert.deepEqual(opened, ["voxfleet.key.secret", "voxfleet.key64.YSBrZXkvMSsyPT8"]);
  });

  test("a request that is under way is waited for, once, and a change is always sent", async () => {
    const { seen } = await service(200, { voices: [] });
    const taken = [];
    const begun = (path) => {
      taken.push(path);
      return taken.length === 1 ? Promise.resolve(Response.json({ voices: ["the early one"] })) : undefined;
    };
    const fleet = new VoxFleet({ url: `http://127.0.0.1:${server.address().port}`, begun });
    assert.deepEqual(await fleet.voices(), ["the early one"]);
    assert.deepEqual(await fleet.voices(), []);
    await fleet.startJob("Hi.");
    assert.deepEqual(taken, ["/api/voices", "/api/voices"]);
    assert.deepEqual(seen.map(({ method, url }) => `${method} ${url}`), ["GET /api/voices", "POST /api/jobs"]);
  });

  test("a refusal is thrown with its code and field", async () => {
    const { fleet } = await service(422, { error: { message: "too long", code: "invalid_request", param: "text" } });
    const refused = (error) => error instanceof ApiError && error.name === "ApiError" && error.status === 422 && error.param === "text";
    await assert.rejects(fleet.speak("Hi."), refused);
  });

  /** A server that is no gateway. @param {(response: import("node:http").ServerResponse) => void} answer */
  async function stranger(answer) {
    server = createServer((_, response) => answer(response));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new VoxFleet({ url: `http://127.0.0.1:${server.address().port}` });
  }

  test("an error page of a proxy has a code, too", async () => {
    let status = 502;
    const fleet = await stranger((response) => response.writeHead(status).end("<html>Bad gateway</html>"));
    await assert.rejects(fleet.voices(), { status: 502, code: "no_answer" });
    status = 418;
    await assert.rejects(fleet.voices(), { status: 418, code: "http_error" });
  });

  test("somebody else's page in the place of an answer is told as such", async () => {
    const fleet = await stranger((response) => response.end("<html>Log in</html>"));
    await assert.rejects(fleet.voices(), (error) => error instanceof ApiError && error.code === "foreign_answer");
    await assert.rejects(fleet.books.list(), { code: "foreign_answer" });
  });

  test("who gives a request up gets the reason back, before and within the answer", async (t) => {
    let [asked, begin] = [() => {}, false];
    const fleet = await stranger((response) => {
      if (begin) response.writeHead(200, { "content-type": "audio/wav" }).write("RIFF");
      asked();
    });
    for (begin of [false, true]) {
      for (const [reason, told] of [[new Error("the user left")], ["the user left"], [undefined, { name: "AbortError" }]]) {
        const controller = new AbortController();
        const arrived = new Promise((resolve) => (asked = resolve));
        const speaking = fleet.speak("Hi.", { signal: controller.signal });
        await arrived;
        controller.abort(reason);
        await assert.rejects(speaking, told ?? ((error) => error === reason));
      }
    }
    const asking = t.mock.method(globalThis, "fetch");
    const over = AbortSignal.abort(new Error("too late"));
    await assert.rejects(fleet.checkRecording(new Blob(["audio"]), { signal: over }), { message: "too late" });
    assert.equal(asking.mock.callCount(), 0);
    const late = new DOMException("a limit of time", "TimeoutError");
    await assert.rejects(fleet.speak("Hi.", { signal: AbortSignal.abort(late) }), { code: "no_answer" });
  });

  test("a page is no audio", async () => {
    const fleet = await stranger((response) => response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<html>"));
    await assert.rejects(fleet.speak("Hi."), { status: 200, code: "foreign_answer" });
  });

  test("who is refused for now is told when to come back", async () => {
    let when = "7";
    const fleet = await stranger((response) => response.writeHead(429, { "retry-after": when }).end("{}"));
    await assert.rejects(fleet.voices(), { status: 429, retryAfterSeconds: 7 });
    when = "Wed, 21 Oct 2026 07:28:00 GMT";
    await assert.rejects(fleet.voices(), { status: 429, retryAfterSeconds: null });
  });

  test("a key that no header can carry is refused as a wrong one, and not shown", async () => {
    const { seen, fleet } = await service(200, { voices: [] });
    const url = `http://127.0.0.1:${server.address().port}`;
    for (const apiKey of ["canary\n", "canary\u6f22", () => "canary\0"]) {
      const wrong = new VoxFleet({ url, apiKey });
      const isRefusal = (error) => error instanceof ApiError && error.code === "invalid_api_key" && !error.message.includes("ary");
      await assert.rejects(wrong.voices(), isRefusal);
      assert.throws(() => wrong.stream("Hi."), isRefusal);
    }
    await fleet.voices();
    assert.equal(seen.length, 1);
  });

  test("what is no address is refused at once", async () => {
    await service(200, {});
    for (const url of ["127.0.0.1:8006", "localhost:8006", "ws://127.0.0.1", "nonsense", [], ["http://a", "b"]]) {
      assert.throws(() => new VoxFleet({ url }), { name: "TypeError", message: /^not the address of a gateway/ });
    }
  });

  test("an answer that is cut tells that the connection was lost", async () => {
    const fleet = await stranger((response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write('{"voices": [', () => response.destroy());
    });
    await assert.rejects(fleet.voices(), (error) => error instanceof ApiError && error.code === "connection_lost");
    await assert.rejects(fleet.encode(new Blob(["x"]), "mp3"), { code: "connection_lost" });
  });

  test("a file that cannot be read any more is told of, not of a gateway that is silent", async (t) => {
    const { fleet } = await service(200, {});
    t.mock.method(globalThis, "fetch", () => Promise.reject(new TypeError("Failed to fetch"))); // as browsers tell it
    const folder = mkdtempSync(join(tmpdir(), "voxfleet-"));
    const path = join(folder, "book.txt");
    writeFileSync(path, "Once.");
    const gone = await openAsBlob(path);
    rmSync(folder, { recursive: true });
    await assert.rejects(fleet.createVoice({ audio: gone, name: "Anna" }), { code: "file_unreadable" });
    await assert.rejects(fleet.encode(gone, "mp3"), { code: "file_unreadable" });
    await assert.rejects(textOf(gone), { code: "file_unreadable" });
    await assert.rejects(fleet.encode(new Blob(["x"]), "mp3"), { code: "no_answer" });
  });

  test("a word of the lexicon is quoted whole", async () => {
    const { seen, fleet } = await service(200, { entries: {}, max_entries: 9 });
    await fleet.lexicon();
    await fleet.setWord("AC/DC? 100%", "acey dee cee");
    await fleet.deleteWord("a.b");
    for (const word of ["..", "a\udcff"]) await assert.rejects(fleet.deleteWord(word), (error) => error.param === "word");
    const asked = seen.map(({ method, url }) => `${method} ${url}`);
    const words = "/api/lexicon/words/";
    assert.deepEqual(asked, ["GET /api/lexicon", `PUT ${words}AC%2FDC%3F%20100%25`, `DELETE ${words}a.b`]);
    assert.deepEqual(JSON.parse(seen[1].body), { spoken: "acey dee cee" });
  });

  test("ids are quoted into addresses, and only what is given is asked", async () => {
    const { seen, fleet } = await service(200, { voices: [] });
    await fleet.voicePreview("../admin?x");
    await fleet.session("s/1", { key: "k&y" });
    await fleet.sessions({ limit: 5, before: undefined });
    await fleet.session("\udcff");
    const urls = seen.map(({ url }) => url);
    const sessions = ["/api/sessions/s%2F1?key=k%26y", "/api/sessions?limit=5", "/api/sessions/%EF%BF%BD"];
    assert.deepEqual(urls, ["/api/voices/..%2Fadmin%3Fx/preview", ...sessions]);
  });

  test("a new voice goes out as a form", async () => {
    const { seen, fleet } = await service(201, { id: "v" });
    const voice = { name: "Ada", tags: ["warm", "low"], parameters: { cfg_value: 3 }, denoise: true };
    await fleet.createVoice({ audio: new Blob(["RIFF"]), ...voice });
    for (const part of ['name="denoise"\r\n\r\ntrue', 'name="audio"; filename="recording.wav"', 'name="name"\r\n\r\nAda', "warm,low", '{"cfg_value":3}']) {
      assert.ok(seen[0].body.includes(part), part);
    }
    assert.ok(!seen[0].body.includes("transcript"));
    await fleet.createVoice({ audio: new Blob(["RIFF"]), name: "Ada", tags: "warm, low" });
    assert.ok(seen[1].body.includes('name="tags"\r\n\r\nwarm, low'));
  });

  test("a new adapter goes out as a form, and one is deleted by its id", async () => {
    const { seen, fleet } = await service(200, { id: "a_1" });
    await fleet.createAdapter({ name: "Anna", config: "{}", weights: new Blob(["weights"]) });
    await fleet.deleteAdapter("a/1");
    const asked = seen.map(({ method, url }) => `${method} ${url}`);
    assert.deepEqual(asked, ["POST /api/adapters", "DELETE /api/adapters/a%2F1"]);
    for (const part of ['name="name"\r\n\r\nAnna', 'name="config"', "weights"]) assert.ok(seen[0].body.includes(part), part);
  });
});
