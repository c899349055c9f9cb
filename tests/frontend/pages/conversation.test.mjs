/** A live session from the first message to the last, with a socket and a loudspeaker that the test moves. */
import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";

/** A socket that a test speaks through, and an audio device that plays when it is told to. */
class FakeSocket {
  readyState = 1;
  sent = [];

  constructor() {
    FakeSocket.last = this;
    queueMicrotask(() => this.onopen());
  }

  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.readyState = 3;
  }

  says(type, fields = {}) {
    this.onmessage({ data: JSON.stringify({ type, ...fields }) });
  }

  brings(samples) {
    this.onmessage({ data: new Int16Array(samples).fill(1000).buffer });
  }

  of(type) {
    return this.sent.filter((message) => message.type === type);
  }
}

class FakeAudio {
  destination = {};

  constructor({ sampleRate }) {
    this.sampleRate = sampleRate;
  }

  resume() {
    return Promise.resolve();
  }

  close() {}

  createScriptProcessor() {
    FakeAudio.node = { connect() {}, disconnect() {} };
    return FakeAudio.node;
  }

  /** Plays so many samples. */
  static plays(samples) {
    FakeAudio.node.onaudioprocess({ outputBuffer: { getChannelData: () => new Float32Array(samples) } });
  }
}

globalThis.WebSocket = FakeSocket;
globalThis.AudioContext = FakeAudio;
globalThis.location ??= { origin: "http://localhost" };
globalThis.sessionStorage ??= { getItem: () => null };
globalThis.localStorage ??= { getItem: () => null };
const { Conversation } = await import("../../../frontend/static/js/live/conversation.js");

describe("Conversation", () => {
  const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

  let conversation = null;
  afterEach(() => conversation.leave());

  async function begun() {
    conversation = new Conversation();
    const states = [];
    conversation.addEventListener("state", ({ detail }) => states.push(detail));
    conversation.start({ voice: "default" }, 8000);
    await settle();
    const socket = FakeSocket.last;
    socket.says("started", { worker_id: "w0", sample_rate: 8000, session_id: "s_1" });
    await settle();
    return { socket, states };
  }

  /** An utterance of 20 characters and 16000 samples, of which 8000 are played. */
  async function speaking() {
    const all = await begun();
    conversation.append("Twenty characters. x");
    all.socket.says("utterance", { index: 0, text: "Twenty characters. x", start: 0, end: 20, first_sample: 0 });
    all.socket.brings(16_000);
    await settle();
    FakeAudio.plays(800); // the pre-roll
    FakeAudio.plays(8000);
    return all;
  }

  test("goes live with what it was asked for, and sends text that was written before", async () => {
    const { socket, states } = await begun();
    assert.deepEqual(states, ["preparing", "live"]);
    assert.deepEqual(socket.sent[0], { type: "start", voice: "default", timestamps: "word" });
    assert.equal(conversation.facts.sessionId, "s_1");
  });

  test("a barge-in tells what was heard, drops the rest, and hears nothing of before", async () => {
    const { socket } = await speaking();
    assert.equal(conversation.interrupt(), true);
    const [{ played_samples: played }] = socket.of("cancel");
    assert.ok(played >= 8000 && played < 16_000);
    socket.brings(4000); // was on its way
    socket.says("cancelled", { spoken_characters: 10, spoken_text: "Twenty cha" });
    assert.equal(conversation.script.isDropped(10), true);
    conversation.append("New.");
    socket.says("utterance", { index: 1, text: "New.", start: 20, end: 24, first_sample: 20_000 });
    socket.brings(4000);
    await settle();
    FakeAudio.plays(1);
    for (let block = 0; block < 8; block += 1) FakeAudio.plays(800);
    assert.ok(conversation.hearing.sample > 20_000, `at ${conversation.hearing.sample}`);
    assert.equal(conversation.timesSource, null);
    const timed = { text: "New.", start: 20, end: 24, start_seconds: 2.5, end_seconds: 2.9 };
    socket.says("timestamps", { index: 1, epoch: 1, source: "estimated", words: [timed], cues: [timed] });
    assert.equal(conversation.timesSource, "estimated");
    const told = JSON.parse(await conversation.subtitles("json").text());
    assert.equal(told.text, "Twenty characters. xNew.");
    assert.deepEqual([told.words[0].start_seconds, told.words[0].end_seconds], [2, 2.4]); // without what never came
    assert.equal(conversation.hearing.keepsAll, true);
  });

  test("a pause is over when the listener wants, confirmed or not", async () => {
    const { socket, states } = await speaking();
    conversation.pause();
    conversation.resume();
    socket.says("paused", { limit_seconds: 60 });
    assert.equal(conversation.state, "live");
    conversation.pause();
    socket.says("paused", { limit_seconds: 60 });
    assert.equal(conversation.state, "paused");
    assert.ok(conversation.facts.releaseAt > performance.now() / 1000 + 50);
    assert.deepEqual(states.slice(2), ["pausing", "live", "pausing", "paused"]);
    assert.deepEqual([socket.of("pause").length, socket.of("resume").length], [2, 1]);
  });

  test("a session that was released while it paused asks for a place again, a silent one needs not", async () => {
    const { socket } = await speaking();
    socket.says("released", { reason: "idle" });
    conversation.resume();
    assert.equal(conversation.state, "released");
    assert.equal(conversation.open, true);
    socket.says("released", { reason: "pause" });
    conversation.resume();
    assert.equal(conversation.state, "preparing");
    assert.equal(socket.of("resume").length, 1);
  });

  test("a stop is over when what came was heard", async () => {
    const { socket } = await speaking();
    conversation.stop();
    socket.says("utterance_done", { index: 0, last_sample: 16_000 });
    socket.says("done", { audio_seconds: 2 });
    await settle();
    assert.equal(conversation.state, "ending");
    for (let block = 0; block < 30 && conversation.busy; block += 1) FakeAudio.plays(800);
    assert.equal(conversation.state, "ended");
    assert.equal(conversation.hearing.underruns, 0);
  });

  test("silence between sentences is no gap, silence in a sentence is one", async () => {
    const { socket } = await speaking();
    socket.says("utterance_done", { index: 0, last_sample: 16_000 });
    await settle();
    for (let block = 0; block < 30; block += 1) FakeAudio.plays(800);
    conversation.append("More words. ");
    socket.says("utterance", { index: 1, text: "More words. ", start: 20, end: 32, first_sample: 16_000 });
    socket.brings(2000);
    await settle();
    for (let block = 0; block < 10; block += 1) FakeAudio.plays(800);
    assert.equal(conversation.hearing.underruns, 0);
    socket.brings(2000);
    await settle();
    for (let block = 0; block < 10; block += 1) FakeAudio.plays(800);
    assert.equal(conversation.hearing.underruns, 1);
  });

  test("what is wrong with one message does not end it, a lost connection does", async () => {
    const { socket } = await speaking();
    const told = [];
    for (const type of ["complaint", "failed"]) conversation.addEventListener(type, ({ detail }) => told.push([type, detail.code]));
    socket.says("error", { fatal: false, error: { code: "too_much_text", message: "too much" } });
    assert.equal(conversation.state, "live");
    socket.onclose({ code: 1006 });
    assert.equal(conversation.state, "failed");
    assert.deepEqual(told, [["complaint", "too_much_text"], ["failed", "connection_lost"]]);
  });
});
