/** The JavaScript client: what it sends, what it makes of the answers. */
import assert from "node:assert/strict";
import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { LiveSession } from "../../frontend/static/js/client/live-session.js";
import { SpeechStream } from "../../frontend/static/js/client/speech-stream.js";
import { ApiError, VoxFleet } from "../../frontend/static/js/client/voxfleet.js";
import { textOf } from "../../frontend/static/js/shared/files/text-of.js";
import { FarEnd } from "./support/far-end.mjs";

const pcm = (...samples) => Int16Array.from(samples).buffer;

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
  });
});

describe("ChatStream", () => {
  let server;
  afterEach(() => server.close());

  const said = (content, more = {}) => ({ model: "m", choices: [{ delta: { content }, finish_reason: null }], ...more });
  const USAGE = { prompt_tokens: 4, completion_tokens: 2 };

  /** A service that notes bodies and sends bytes one piece at a time; @returns {VoxFleet} */
  async function service(seen, pieces) {
    server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      seen.push(JSON.parse(body));
      response.writeHead(200, { "content-type": "text/event-stream", "x-seed": "9" });
      for (const piece of pieces) {
        response.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new VoxFleet({ url: `http://127.0.0.1:${server.address().port}` });
  }

  async function read(stream) {
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    return pieces;
  }

  test("events that are cut anywhere are put together, and the answer tells the rest", async () => {
    const events = [
      said("Grüß"),
      said(" dich"),
      { model: "m", choices: [{ delta: {}, finish_reason: "length" }] },
      { model: "m", choices: [], usage: USAGE },
    ];
    const bytes = Buffer.from(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`);
    const cut = bytes.indexOf("ü") + 1; // in the middle of a character
    const seen = [];
    const fleet = await service(seen, [bytes.subarray(0, cut), bytes.subarray(cut, cut + 9), bytes.subarray(cut + 9)]);
    const stream = fleet.streamChat("Hi.", { max_tokens: 2 });
    assert.deepEqual(await read(stream), ["Grüß", " dich"]);
    const rest = { finishReason: "length", model: "m", seed: 9, promptTokens: 4, completionTokens: 2 };
    assert.deepEqual(stream.answer, { text: "Grüß dich", ...rest });
    const options = { max_tokens: 2, stream: true, stream_options: { include_usage: true, include_queue: true } };
    assert.deepEqual(seen, [{ messages: [{ role: "user", content: "Hi." }], ...options }]);
  });

  test("a place in line and audio are told by events, and what is said is the text", async () => {
    const spoken = (audio) => ({ model: "m", choices: [{ delta: { content: null, audio }, finish_reason: null }] });
    const events = [
      { model: "m", choices: [], queue: { position: 2, eta_seconds: 1.5 } },
      spoken({ transcript: "Hello." }),
      spoken({ data: Buffer.from([1, 2, 255]).toString("base64") }),
      { model: "m", choices: [], usage: USAGE },
    ];
    const seen = [];
    const fleet = await service(seen, [`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`]);
    const stream = fleet.streamChat("Hi.", { audio: { voice: "ruth" } });
    const told = [];
    stream.addEventListener("queued", ({ detail }) => told.push(detail));
    stream.addEventListener("audio", ({ detail }) => told.push(new Uint8Array(detail)));
    assert.deepEqual(await read(stream), ["Hello."]);
    assert.deepEqual(told, [events[0].queue, new Uint8Array([1, 2, 255])]);
    assert.equal(stream.answer.text, "Hello.");
    assert.deepEqual([seen[0].modalities, seen[0].audio], [["text", "audio"], { format: "pcm16", voice: "ruth" }]);
  });

  test("an error in a stream is thrown, and so is an end before the end", async () => {
    const error = { message: "gone", code: "no_worker", type: "capacity_error" };
    const told = `data: ${JSON.stringify({ error, retry_after_seconds: 5 })}\n\n`;
    for (const [last, code, retryAfterSeconds] of [[told, "no_worker", 5], ["", "connection_lost", null]]) {
      const fleet = await service([], [`data: ${JSON.stringify(said("a"))}\n\n`, last]);
      const stream = fleet.streamChat("Hi.");
      await assert.rejects(read(stream), { code, retryAfterSeconds });
      assert.equal(stream.answer, null);
      server.close();
    }
  });

  test("what would give more than one answer as text is no option", async () => {
    const seen = [];
    const fleet = await service(seen, []);
    assert.throws(() => fleet.streamChat("Hi.", { n: 2 }), { param: "n" });
    await assert.rejects(fleet.chat("Hi.", { modalities: ["audio"] }), { param: "modalities" });
    await assert.rejects(fleet.chat("Hi.", { audio: { voice: "ruth" } }), { param: "audio" });
    assert.deepEqual(seen, []);
  });
});

describe("SpeechStream as a sequence", () => {
  function stream() {
    const socket = new FarEnd();
    return { socket, speech: new SpeechStream("ws://a", { text: "Hi." }, { createSocket: () => socket }) };
  }

  test("yields every piece and ends with the clip", async () => {
    const { socket, speech } = stream();
    const heard = [];
    const reading = (async () => {
      for await (const piece of speech) heard.push(...new Int16Array(piece));
    })();
    socket.open();
    socket.say({ type: "started", sample_rate: 16000 });
    socket.say(pcm(1, 2));
    await Promise.resolve();
    socket.say(pcm(3));
    socket.say({ type: "done" });
    await reading;
    assert.deepEqual(heard, [1, 2, 3]);
  });

  test("what came before it is read is kept, and so is the end", async () => {
    const { socket, speech } = stream();
    socket.open();
    socket.say(pcm(1, 2));
    socket.say(pcm(3));
    socket.say({ type: "error", error: { code: "worker_failed", type: "server_error", message: "gone" } });
    const heard = [];
    const read = async () => {
      for await (const piece of speech) heard.push(...new Int16Array(piece));
    };
    await assert.rejects(read, { code: "worker_failed" });
    assert.deepEqual(heard, [1, 2, 3]);
    await assert.rejects(read, { code: "worker_failed" });
    assert.deepEqual(heard, [1, 2, 3]);
  });

  test("a signal cancels it, and is what the reader gets", async () => {
    const [socket, controller] = [new FarEnd(), new AbortController()];
    const options = { createSocket: () => socket, signal: controller.signal };
    const speech = new SpeechStream("ws://a", { text: "Hi." }, options);
    socket.open();
    socket.say(pcm(1, 2));
    const heard = [];
    const reading = (async () => {
      for await (const piece of speech) heard.push(...new Int16Array(piece));
    })();
    controller.abort();
    assert.deepEqual(socket.sent.at(-1), { type: "cancel" });
    socket.say({ type: "cancelled" });
    await assert.rejects(reading, { name: "AbortError" });
    assert.deepEqual(heard, [1, 2]);
    assert.throws(() => new SpeechStream("ws://a", { text: "Hi." }, options), { name: "AbortError" });
  });

  test("a signal after the end changes nothing", async () => {
    const [socket, controller] = [new FarEnd(), new AbortController()];
    const speech = new SpeechStream("ws://a", { text: "Hi." }, { createSocket: () => socket, signal: controller.signal });
    socket.open();
    socket.say(pcm(1));
    socket.say({ type: "done" });
    controller.abort();
    let pieces = 0;
    for await (const piece of speech) pieces += piece.byteLength / 2;
    assert.equal(pieces, 1);
  });

  test("what a listener heard is not kept beside", async () => {
    const { socket, speech } = stream();
    let heard = 0;
    speech.addEventListener("audio", ({ detail }) => (heard += detail.byteLength));
    socket.open();
    socket.say(pcm(1, 2));
    socket.say({ type: "done" });
    for await (const piece of speech) assert.fail(`${piece.byteLength} bytes were kept`);
    assert.equal(heard, 4);
  });

  test("throws when the speech fails, after what came before", async () => {
    const { socket, speech } = stream();
    const heard = [];
    const reading = (async () => {
      for await (const piece of speech) heard.push(...new Int16Array(piece));
    })();
    socket.open();
    socket.say(pcm(7));
    socket.say({ type: "error", error: { code: "worker_failed", type: "server_error", message: "gone" } });
    await assert.rejects(reading, { code: "worker_failed" });
    assert.deepEqual(heard, [7]);
  });

  test("reports what was heard while it runs, and nothing after", () => {
    const { socket, speech } = stream();
    speech.report({ underruns: 0 });
    socket.open();
    speech.report({ underruns: 1, played_samples: 5 });
    socket.say({ type: "done" });
    speech.report({ underruns: 2 });
    assert.deepEqual(socket.sent.slice(1), [{ type: "stats", underruns: 1, played_samples: 5 }]);
  });
});

describe("LiveSession", () => {
  function session(context) {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const socket = new FarEnd();
    const live = new LiveSession("ws://a", { voice: "slt" }, { createSocket: () => socket });
    const events = [];
    for (const type of ["started", "audio", "cancelled", "idle", "done", "failed"]) {
      live.addEventListener(type, ({ detail }) => events.push([type, detail]));
    }
    return { live, socket, events, wait: (ms = 100) => context.mock.timers.tick(ms) };
  }

  test("what is said before the socket is open waits for it, in order", (context) => {
    const { live, socket, wait } = session(context);
    live.append("One. ");
    wait();
    live.flush();
    socket.open();
    assert.deepEqual(socket.sent, [{ type: "start", voice: "slt" }, { type: "append", text: "One. " }, { type: "flush" }]);
  });

  test("keystrokes are gathered; a command sends what was gathered first", (context) => {
    const { live, socket, wait } = session(context);
    socket.open();
    for (const letter of "Hello") live.append(letter);
    wait();
    live.append(" you");
    live.stop();
    live.append("too late");
    wait();
    const texts = socket.sent.slice(1).map(({ type, text }) => text ?? type);
    assert.deepEqual(texts, ["Hello", " you", "stop"]);
  });

  test("no audio of before a cancel is heard, and its samples still count", (context) => {
    const { live, socket, events } = session(context);
    socket.open();
    socket.say(pcm(1, 2));
    live.append("never sent");
    live.cancel(1);
    socket.say(pcm(3, 4));
    socket.say({ type: "cancelled", epoch: 1, spoken_text: "H" });
    socket.say(pcm(5));
    const heard = events.filter(([type]) => type === "audio").map(([, { firstSample }]) => firstSample);
    assert.deepEqual(heard, [0, 4]);
    assert.deepEqual(socket.sent.slice(1), [{ type: "cancel", played_samples: 1 }]);
  });

  test("what is still said after stop can be cut off", (context) => {
    const { live, socket } = session(context);
    socket.open();
    live.append("A long text.");
    live.stop();
    live.cancel(5);
    live.report({ underruns: 0 });
    const types = socket.sent.slice(1).map(({ type }) => type);
    assert.deepEqual(types, ["append", "stop", "cancel", "stats"]);
  });

  test("ends once", (context) => {
    const { socket, events } = session(context);
    socket.open();
    socket.say({ type: "done", utterances: 2 });
    socket.close(1006);
    assert.deepEqual(events.map(([type]) => type), ["done"]);
  });

  test("an address that nobody answers fails it", (context) => {
    const { socket, events } = session(context);
    socket.refuse();
    assert.deepEqual(events.map(([type, { code }]) => [type, code]), [["failed", "connection_lost"]]);
  });

  test("a lost connection fails it", (context) => {
    const { socket, events } = session(context);
    socket.close(1006);
    assert.equal(events[0][0], "failed");
    assert.equal(events[0][1].code, "connection_lost");
  });
});
