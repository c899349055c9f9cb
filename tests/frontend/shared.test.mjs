/** Helpers that every page uses: numbers as words, keys, remembered settings. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { follower } from "../../frontend/static/js/shared/hearing/follower.js";
import { Chime } from "../../frontend/static/js/shared/notices/chime.js";
import { WakeLock } from "../../frontend/static/js/shared/hearing/wake-lock.js";
import * as format from "../../frontend/static/js/i18n/format.js";
import { belongsToTarget, keyName } from "../../frontend/static/js/shared/page/shortcuts.js";
import { Polling } from "../../frontend/static/js/shared/service/polling.js";
import { local, Remembered } from "../../frontend/static/js/shared/page/storage.js";

describe("format", () => {
  const cases = [
    [format.latency, 0.2144, "214 ms"],
    [format.latency, 2.34, "2.3 s"],
    [format.clock, 0, "0:00.0"],
    [format.clock, 63.49, "1:03.4"],
    [format.duration, 0.4, "0 s"],
    [format.duration, 65, "1 min 5 s"],
    [format.duration, 3600, "1 h"],
    [format.duration, 93784, "1 d 2 h"],
    [format.bytes, 812646400, "775 MiB"],
    [format.bytes, 9663676416, "9.0 GiB"],
    [format.bytes, 0, "0 B"],
    [format.integer, 10482, "10,482"],
    [format.integer, 999, "999"],
    [format.ratio, 0.2137, "0.21"],
  ];
  for (const [write, value, expected] of cases) {
    test(`${write.name}(${value}) is ${expected}`, () => assert.equal(write(value), expected));
  }

  test("a missing value is a dash", () => {
    for (const write of [format.latency, format.clock, format.duration, format.bytes, format.integer, format.ratio]) {
      assert.deepEqual([write(null), write(undefined), write(NaN)], ["–", "–", "–"]);
    }
  });
});

describe("shortcuts", () => {
  /** An element as closest() sees it. */
  const element = (tag) => ({ closest: (selectors) => (selectors.split(", ").includes(tag) ? {} : null) });

  test("Cmd counts as Ctrl, and the space bar has a name", () => {
    assert.equal(keyName({ key: "Enter", metaKey: true }), "Ctrl+Enter");
    assert.equal(keyName({ key: " " }), "Space");
  });

  test("typing keeps its keys; Ctrl+Enter and Escape work everywhere", () => {
    assert.equal(belongsToTarget("Space", element("textarea")), true);
    assert.equal(belongsToTarget("?", element("textarea")), true);
    assert.equal(belongsToTarget("Ctrl+Enter", element("textarea")), false);
    assert.equal(belongsToTarget("Escape", element("input")), false);
  });

  test("a focused button keeps Space but not the question mark", () => {
    assert.equal(belongsToTarget("Space", element("button")), true);
    assert.equal(belongsToTarget("?", element("button")), false);
    assert.equal(belongsToTarget("Space", element("body")), false);
  });
});

describe("Remembered", () => {
  const storage = (initial) => {
    const items = new Map(initial);
    return { getItem: (key) => items.get(key) ?? null, setItem: (key, value) => items.set(key, value), items };
  };

  test("comes back as it was saved", () => {
    const box = storage();
    new Remembered("x", box).save({ voice: "slt" });
    assert.deepEqual(new Remembered("x", box).load(), { voice: "slt" });
  });

  test("nonsense and a closed storage are empty", () => {
    for (const text of ["{", "null", "3", '"x"']) {
      assert.deepEqual(new Remembered("x", storage([["voxfleet.x", text]])).load(), {});
    }
  });

  test("where the browser keeps nothing, until the page is left", (context) => {
    Object.defineProperty(globalThis, "localStorage", { configurable: true, get: () => { throw new Error("denied"); } });
    context.after(() => delete globalThis.localStorage);
    assert.deepEqual(new Remembered("x").load(), {});
    new Remembered("x").save({ voice: "slt" });
    assert.deepEqual(new Remembered("x").load(), { voice: "slt" });
    local.setItem("key", "a");
    assert.equal(local.getItem("key"), "a");
    local.removeItem("key");
    assert.equal(local.getItem("key"), null);
  });
});

describe("the wake lock", () => {
  test("is held while it is wanted, and not asked for twice", async () => {
    let held = 0;
    let asked = 0;
    const request = async () => {
      asked += 1;
      held += 1;
      return { release: () => (held -= 1) };
    };
    const lock = new WakeLock({ request });
    lock.set(true);
    lock.set(true);
    await Promise.resolve();
    assert.deepEqual([asked, held], [1, 1]);
    lock.set(false);
    assert.equal(held, 0);
  });

  test("that comes when it is wanted no more is let go", async () => {
    let held = 0;
    let grant;
    const granted = new Promise((resolve) => (grant = resolve));
    const lock = new WakeLock({ request: () => granted });
    lock.set(true);
    lock.set(false);
    held += 1;
    grant({ release: () => (held -= 1) });
    await granted;
    await Promise.resolve();
    assert.equal(held, 0);
  });

  test("a browser that has none, or refuses, is no reason to fail", async () => {
    new WakeLock(undefined).set(true);
    new WakeLock({ request: () => Promise.reject(new Error("battery")) }).set(true);
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("the chime", () => {
  /** Counts the tones of a stand-in for Web Audio. */
  function chime(context) {
    const storage = new Map();
    const tones = [];
    class Node {
      gain = { setValueAtTime() {}, linearRampToValueAtTime() {}, exponentialRampToValueAtTime() {} };
      constructor(_, { frequency }) {
        if (frequency) tones.push(frequency);
      }
      connect = (next) => next;
      start() {}
      stop() {}
    }
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const kept = { getItem: (key) => storage.get(key) ?? null, setItem: (key, value) => storage.set(key, value) };
    Object.assign(globalThis, { OscillatorNode: Node, GainNode: Node, localStorage: kept });
    context.after(() => ["OscillatorNode", "GainNode", "localStorage"].forEach((name) => delete globalThis[name]));
    const create = () => ({ currentTime: 0, destination: {}, close() {} });
    return { tones, make: () => new Chime({ createContext: create }) };
  }

  test("rings two notes, until it is switched off, which is remembered", (context) => {
    const { tones, make } = chime(context);
    const first = make();
    first.ring();
    assert.equal(tones.length, 2);
    assert.ok(tones[1] > tones[0]);
    first.on = false;
    make().ring();
    assert.equal(tones.length, 2);
  });
});

describe("a list that is asked for again", () => {
  /** @param {(() => unknown)[]} answers one after the other */
  function stage(t, answers) {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    globalThis.document = { hidden: false };
    t.after(() => delete globalThis.document);
    const notice = { hidden: true };
    const seen = [];
    const fail = (error) => {
      notice.hidden = false;
      seen.push(error.message);
    };
    const polling = new Polling({ ask: async () => answers.shift()(), show: (answer) => seen.push(answer) && answer.open, fail, notice, milliseconds: 100 });
    const settle = async () => {
      for (let turn = 0; turn < 9; turn += 1) await null;
    };
    const later = async (milliseconds = 100) => {
      t.mock.timers.tick(milliseconds);
      await settle();
    };
    return { polling, notice, seen, later };
  }
  const answer = (open) => () => ({ open });
  const refuse = () => {
    throw new Error("away");
  };

  test("goes on after answers that failed, tells of them once, and takes the notice away", async (t) => {
    const { polling, notice, seen, later } = stage(t, [answer(true), refuse, refuse, answer(false)]);
    await polling.load();
    await later();
    assert.deepEqual([seen, notice.hidden], [[{ open: true }, "away"], false]);
    await later();
    await later();
    assert.deepEqual([seen, notice.hidden], [[{ open: true }, "away", { open: false }], true]);
    await later();
    assert.equal(seen.length, 3);
  });

  test("gives up an answer that never comes, and asks anew", async (t) => {
    const { polling, notice, seen, later } = stage(t, [answer(true), () => new Promise(() => {}), answer(false)]);
    await polling.load();
    await later();
    await later(30_000);
    assert.deepEqual([seen, notice.hidden], [[{ open: true }, "The gateway does not answer."], false]);
    await later();
    assert.deepEqual([seen.length, notice.hidden], [3, true]);
  });

  test("tells of it again where somebody has asked for it, and hides no other notice", async (t) => {
    const { polling, notice, seen } = stage(t, [refuse, refuse, answer(false), answer(false)]);
    await polling.load();
    notice.hidden = true;
    await polling.load();
    assert.deepEqual([seen, notice.hidden], [["away", "away"], false]);
    await polling.load();
    notice.hidden = false;
    await polling.load();
    assert.equal(notice.hidden, false);
  });
});

test("a box follows what is spoken, and leaves a reader alone who scrolls it", (context) => {
  globalThis.matchMedia = () => ({ matches: true });
  context.after(() => delete globalThis.matchMedia);
  const rings = {};
  const scrolled = [];
  const box = {
    scrollTop: 100,
    addEventListener: (type, ring) => (rings[type] = ring),
    getBoundingClientRect: () => ({ top: 0, bottom: 300, height: 300 }),
    scrollTo: ({ top, behavior }) => scrolled.push([top, behavior]),
  };
  const at = (top) => ({ getBoundingClientRect: () => ({ top, bottom: top + 20 }) });
  const follow = follower(box, { place: 1 / 3 });
  follow(at(150));
  assert.deepEqual(scrolled, [], "it is in view");
  follow(at(290));
  assert.deepEqual(scrolled, [[290, "auto"]]);
  assert.equal(rings.keydown, undefined);
  rings.wheel();
  follow(at(-40));
  assert.equal(scrolled.length, 1);
});
