/** Streams of the JavaScript client, as a sequence of messages and audio. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SpeechStream } from "../../../frontend/static/js/client/speech-stream.js";
import { FarEnd } from "../support/far-end.mjs";

const pcm = (...samples) => Int16Array.from(samples).buffer;

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
