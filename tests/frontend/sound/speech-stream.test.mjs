/** One utterance over a socket: news, audio, one outcome, and how it goes on over another connection. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SpeechStream } from "../../../frontend/static/js/client/speech-stream.js";
import { FarEnd } from "../support/far-end.mjs";

function session(request = { text: "Hi." }) {
  const socket = new FarEnd();
  const speech = new SpeechStream("ws://host/ws/tts", request, { createSocket: () => socket });
  const events = [];
  for (const type of ["queued", "started", "audio", "timestamps", "audioDone", "done", "cancelled", "failed"]) {
    speech.addEventListener(type, ({ detail }) => events.push([type, detail]));
  }
  return { socket, speech, events, types: () => events.map(([type]) => type) };
}

describe("SpeechStream", () => {
  test("sends the request as PCM and tells the story of a whole utterance", () => {
    const { socket, types } = session({ text: "Hi.", voice: "slt" });
    socket.open();
    assert.deepEqual(socket.sent, [{ text: "Hi.", voice: "slt", format: "pcm" }]);
    socket.say({ type: "queued", ticket_id: "t", position: 2, eta_seconds: 3 });
    socket.say({ type: "queue_update", position: 1, eta_seconds: 1 });
    socket.say({ type: "started", request_id: "r", worker_id: "w", sample_rate: 16000 });
    socket.say(new ArrayBuffer(4));
    socket.say({ type: "done", audio_seconds: 1 });
    assert.deepEqual(types(), ["queued", "queued", "started", "audio", "done"]);
  });

  test("tells when words are said, and when no more audio comes", () => {
    const { socket, types } = session({ text: "Hi.", timestamps: "word" });
    socket.open();
    socket.say({ type: "started", sample_rate: 16000 });
    socket.say(new ArrayBuffer(4));
    socket.say({ type: "audio_done" });
    socket.say({ type: "timestamps", source: "aligned", words: [], cues: [] });
    socket.say({ type: "done", audio_seconds: 1 });
    assert.deepEqual(types(), ["started", "audio", "audioDone", "timestamps", "done"]);
  });

  test("ends exactly once, whatever still comes", () => {
    const { socket, events, types } = session();
    socket.open();
    socket.say({ type: "error", error: { message: "no", code: "x" }, retry_after_seconds: 3 });
    socket.say({ type: "done" });
    socket.say(new ArrayBuffer(2));
    socket.close(1011);
    assert.deepEqual(types(), ["failed"]);
    assert.equal(events[0][1].retry_after_seconds, 3);
  });

  test("a lost connection is a failure that says so", () => {
    const { socket, events } = session();
    socket.open();
    socket.close(1006);
    assert.equal(events[0][0], "failed");
    assert.match(events[0][1].message, /lost/);
  });

  test("no audio follows cancel, and the server's confirmation ends it", () => {
    const { socket, speech, types } = session();
    socket.open();
    socket.say({ type: "started", sample_rate: 16000 });
    speech.cancel();
    speech.cancel();
    socket.say(new ArrayBuffer(2));
    assert.deepEqual(socket.sent.slice(1), [{ type: "cancel" }]);
    assert.deepEqual(types(), ["started"]);
    socket.say({ type: "cancelled" });
    assert.deepEqual(types(), ["started", "cancelled"]);
  });

  test("cancel before the socket is open closes it", () => {
    const { socket, speech, types } = session();
    speech.cancel();
    assert.deepEqual(types(), ["cancelled"]);
    assert.equal(socket.readyState, 3);
  });

  test("a server that never confirms does not hold the page", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { socket, speech, types } = session();
    socket.open();
    speech.cancel();
    context.mock.timers.tick(2000);
    assert.deepEqual(types(), ["cancelled"]);
  });
});

describe("SpeechStream that resumes", () => {
  const pcm = (...samples) => Int16Array.from(samples).buffer;
  const heard = (events) =>
    events.filter(([type]) => type === "audio").flatMap(([, bytes]) => [...new Int16Array(bytes)]);

  /** A session whose connections are made when the clock moves on. */
  function resuming(context, request = { text: "Hi.", seed: 5, resume: true }, urls = "ws://a") {
    context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const sockets = [];
    const createSocket = (url) => {
      sockets.push(Object.assign(new FarEnd(), { url }));
      return sockets.at(-1);
    };
    const speech = new SpeechStream(urls, request, { createSocket });
    const events = [];
    for (const type of ["started", "audio", "reconnecting", "done", "cancelled", "failed"]) {
      speech.addEventListener(type, ({ detail }) => events.push([type, detail]));
    }
    return { speech, sockets, events, wait: (ms = 5000) => context.mock.timers.tick(ms) };
  }

  function begin(socket) {
    socket.open();
    socket.say({ type: "started", sample_rate: 16000 });
    socket.say(pcm(1, 2));
    socket.say({ type: "resume_token", token: "head.one", samples: 2 });
    socket.say(pcm(3, 4));
  }

  test("goes on from the token, and drops what it has heard already", (context) => {
    const { sockets, events, wait } = resuming(context, undefined, ["ws://a", "ws://b"]);
    begin(sockets[0]);
    sockets[0].say({ type: "resume_token", token: ".two", samples: 4 });
    sockets[0].say(pcm(5, 6));
    sockets[0].close(1006);
    wait();
    assert.deepEqual(sockets.map(({ url }) => url), ["ws://a", "ws://b"]);
    sockets[1].open();
    assert.deepEqual(sockets[1].sent, [{ resume_token: "head.one.two", more: false }]);
    sockets[1].say({ type: "started", sample_rate: 16000, resumed_at_sample: 4 });
    sockets[1].say(pcm(5, 6));
    sockets[1].say(pcm(7));
    sockets[1].say({ type: "done" });
    assert.deepEqual(heard(events), [1, 2, 3, 4, 5, 6, 7]);
    assert.equal(events.filter(([type]) => type === "started").length, 1);
    assert.equal(events.at(-1)[0], "done");
  });

  test("asks again, with the same seed, when nothing was sealed yet", (context) => {
    const { sockets, events, wait } = resuming(context, { text: "Hi.", resume: true });
    sockets[0].open();
    sockets[0].say({ type: "started", sample_rate: 16000 });
    sockets[0].say(pcm(1, 2));
    sockets[0].say({ type: "error", error: { code: "shutting_down", type: "capacity_error", message: "ends" } });
    wait();
    sockets[1].open();
    assert.equal(typeof sockets[1].sent[0].seed, "number");
    assert.deepEqual(sockets[1].sent, sockets[0].sent);
    sockets[1].say({ type: "started", sample_rate: 16000 });
    sockets[1].say(pcm(1, 2, 3));
    assert.deepEqual(heard(events), [1, 2, 3]);
  });

  test("a new gateway that does not know the token is told of in words for people", (context) => {
    const { sockets, events, wait } = resuming(context);
    begin(sockets[0]);
    sockets[0].close(1006);
    wait();
    sockets[1].open();
    sockets[1].say({ type: "error", error: { code: "invalid_resume_token", type: "invalid_request_error", message: "the resume token" } });
    const [type, { code, message }] = events.at(-1);
    assert.deepEqual([type, code], ["failed", "clip_lost"]);
    assert.match(message, /^The gateway was lost/);
  });

  test("a long token goes out in parts that a gateway takes", (context) => {
    const { sockets, wait } = resuming(context);
    begin(sockets[0]);
    sockets[0].say({ type: "resume_token", token: "x".repeat(900_000), samples: 4 });
    sockets[0].close(1012);
    wait(200);
    sockets[1].open();
    assert.equal(sockets[1].sent.length, 10);
    wait();
    const parts = sockets[1].sent;
    assert.equal(parts.map((part) => part.resume_token).join("").length, "head.one".length + 900_000);
    assert.deepEqual(parts.map((part) => part.more), [...parts.slice(1).map(() => true), false]);
    assert.ok(parts.every((part) => JSON.stringify(part).length < 65536));
  });

  test("gives up after its patience, and at once when no gateway was ever reached", (context) => {
    const { sockets, events, wait } = resuming(context);
    begin(sockets[0]);
    for (let second = 0; second < 40; second += 1) {
      sockets.at(-1).close(1006);
      wait(2000);
    }
    assert.equal(events.at(-1)[0], "failed");
    const unreached = new FarEnd();
    const outcomes = [];
    const speech = new SpeechStream("ws://a", { text: "Hi.", resume: true }, { createSocket: () => unreached });
    speech.addEventListener("failed", () => outcomes.push("failed"));
    unreached.close(1006);
    assert.deepEqual(outcomes, ["failed"]);
  });

  test("an address that nobody answers is a failure, after every other was tried", (context) => {
    const { sockets, events, wait } = resuming(context, undefined, ["ws://a", "ws://b"]);
    sockets[0].refuse();
    wait();
    assert.deepEqual(sockets.map(({ url }) => url), ["ws://a", "ws://b"]);
    sockets[1].refuse();
    wait();
    assert.equal(sockets.length, 2);
    assert.deepEqual(events.map(([type]) => type), ["reconnecting", "failed"]);
    assert.equal(events[1][1].code, "connection_lost");
  });

  test("an error that is the request's own ends it", (context) => {
    const { sockets, events, wait } = resuming(context);
    begin(sockets[0]);
    sockets[0].say({ type: "error", error: { code: "worker_failed", type: "server_error", message: "no" } });
    wait();
    assert.equal(sockets.length, 1);
    assert.equal(events.at(-1)[0], "failed");
  });

  test("cancel between two connections ends it", (context) => {
    const { speech, sockets, events, wait } = resuming(context);
    begin(sockets[0]);
    sockets[0].close(1006);
    speech.cancel();
    wait();
    assert.equal(sockets.length, 1);
    assert.equal(events.at(-1)[0], "cancelled");
  });
});
