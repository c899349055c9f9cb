/** Live sessions of the JavaScript client. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LiveSession } from "../../../frontend/static/js/client/live-session.js";
import { FarEnd } from "../support/far-end.mjs";

const pcm = (...samples) => Int16Array.from(samples).buffer;

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
