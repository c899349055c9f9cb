/** Clips of hours: what is kept of them, and what a player has of them at a time. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PIECE_SAMPLES, Tape } from "../../../frontend/static/js/audio/tape.js";
import { decodeWav } from "../../../frontend/static/js/audio/pcm.js";
import { Playout } from "../../../frontend/static/js/audio/playout.js";
import { Feed } from "../../../frontend/static/js/studio/feed.js";

const RATE = 100;
const counting = (from, count) => Int16Array.from({ length: count }, (_, i) => (from + i) % 30_000);
const settled = () => new Promise((resolve) => setTimeout(resolve));

describe("a tape", () => {
  test("reads across pieces, and becomes a file", async () => {
    const tape = new Tape();
    const chunk = PIECE_SAMPLES / 4 + 1;
    for (let at = 0; at < 6 * chunk; at += chunk) tape.append(counting(at, chunk));
    assert.equal(tape.samples, 6 * chunk);
    assert.deepEqual(await tape.read(4 * chunk - 3, 6), counting(4 * chunk - 3, 6));
    assert.deepEqual(await tape.read(6 * chunk - 2, 9), counting(6 * chunk - 2, 2));
    const { samples, sampleRate } = decodeWav(await tape.wav(RATE).arrayBuffer());
    assert.deepEqual([samples, sampleRate], [counting(0, 6 * chunk), RATE]);
    const again = Tape.of(tape.wav(RATE).slice(44));
    assert.deepEqual([again.samples, await again.read(5, 3)], [6 * chunk, counting(5, 3)]);
  });
});

/** A clip, and a player that notes what it is given. */
function stage(from) {
  const tape = new Tape();
  const clip = { sampleRate: RATE, get samples() { return tape.samples; }, read: (at, count) => tape.read(at, count) };
  const pushed = [];
  const player = { ended: 0, push: (samples) => pushed.push(...samples), end: () => (player.ended += 1) };
  const feed = new Feed(player, clip, from);
  const arrive = (seconds) => {
    const at = tape.samples;
    const samples = counting(at, seconds * RATE);
    tape.append(samples);
    feed.arrived(samples, at);
  };
  return { feed, arrive, pushed, player };
}

describe("a feed", () => {
  test("of a clip that is heard as it comes reads nothing, and leaves nothing out", () => {
    const { feed, arrive, pushed, player } = stage();
    for (let second = 0; second < 5; second += 1) arrive(1);
    feed.end();
    assert.deepEqual([pushed, player.ended], [[...counting(0, 5 * RATE)], 1]);
  });

  test("gives a minute ahead, and the rest as it is heard", async () => {
    const { feed, arrive, pushed, player } = stage();
    for (let second = 0; second < 200; second += 10) arrive(10);
    feed.end();
    await settled();
    assert.deepEqual([pushed.length, player.ended], [60 * RATE, 0]);
    for (let second = 10; second <= 200; second += 10) {
      feed.moved(second * RATE);
      await settled();
      assert.equal(pushed.length, Math.min(200, second + 60) * RATE);
    }
    assert.deepEqual([pushed, player.ended], [[...counting(0, 200 * RATE)], 1]);
    assert.deepEqual([100, 150, 199, 200, 201].map((second) => feed.holds(second * RATE)), [false, true, true, true, false]);
  });

  test("begins where it is wanted, and stops where the player is another's", async () => {
    const { feed, arrive, pushed } = stage(30 * RATE);
    arrive(120);
    await settled();
    assert.deepEqual([pushed[0], pushed.length], [30 * RATE, 60 * RATE]);
    feed.moved(50 * RATE);
    feed.stop();
    arrive(10);
    await settled();
    assert.equal(pushed.length, 60 * RATE);
  });
});

test("a player of a part counts samples of the whole clip, and forgets what was heard long before", () => {
  const playout = new Playout({ sampleRate: RATE, keptSeconds: 1, from: 500 });
  playout.push(Float32Array.from({ length: 400 }, () => 0.5));
  playout.end();
  for (let block = 0; block < 30; block += 1) playout.pull(new Float32Array(10));
  const { position, receivedSamples, state } = playout.snapshot();
  assert.deepEqual([receivedSamples, state], [900, "playing"]);
  assert.ok(position > 700, String(position));
  playout.seek(0);
  for (let block = 0; block < 3; block += 1) playout.pull(new Float32Array(10));
  assert.ok(playout.snapshot().position >= 500, "what it never had cannot be heard");
});
