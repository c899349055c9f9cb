/** What the session pages are made of, without a browser: words and their times, facts, events, audio. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { encodeWav } from "../../../frontend/static/js/audio/pcm.js";
import en from "../../../frontend/static/js/i18n/en/sessions.js";
import zh from "../../../frontend/static/js/i18n/zh/sessions.js";
import { eventFacts, interruptions } from "../../../frontend/static/js/sessions/recording/event-list.js";
import { fileNameOf } from "../../../frontend/static/js/client/forms.js";
import { Pages } from "../../../frontend/static/js/sessions/list/pages.js";
import { RowPlayer } from "../../../frontend/static/js/sessions/list/row-player.js";
import { fleet } from "../../../frontend/static/js/shared/service/fleet.js";
import { seedText, sizeFacts, titleOf } from "../../../frontend/static/js/sessions/facts.js";
import { narrativeOf } from "../../../frontend/static/js/sessions/recording/narrative.js";
import { studioAddress } from "../../../frontend/static/js/sessions/to-studio.js";
import { fromFragment } from "../../../frontend/static/js/studio/share-link.js";

globalThis.sessionStorage ??= { getItem: () => null };
const { samplesOf } = await import("../../../frontend/static/js/sessions/recording-audio.js");

const utterance = (index, more) => ({
  index, text: "One two.", at: index, ended_at: index + 1, sample_rate: 1000, first_sample: 2000 * index, samples: 2000, outcome: "stop",
  workers: ["w0"], migrations: 0, parts: [],
  words: [{ start: 0, end: 3, first_sample: 0, end_sample: 1000 }, { start: 4, end: 8, first_sample: 1000, end_sample: 2000 }],
  chunks: [{ at: index + 0.25, first_sample: 0, samples: 500 }, { at: index + 0.5, first_sample: 500, samples: 1500 }],
  ...more,
});
const timeline = { utterances: [utterance(0), utterance(1)], events: [{ at: 0.5, kind: "cancel", played_samples: 1500 }], audio_seconds: 4, sample_rate: 1000 };

describe("narrative", () => {
  const narrative = narrativeOf(timeline);

  test("words have their times in the merged audio", () => {
    assert.deepEqual(narrative.words.map(({ text, from, to, utterance: index }) => [text, from, to, index]), [
      ["One", 0, 1, 0], ["two.", 1, 2, 0], ["One", 2, 3, 1], ["two.", 3, 4, 1],
    ]);
  });

  test("finds the word of a time, and the last one before a silence", () => {
    assert.deepEqual([0, 0.99, 1, 2.5, 99].map((seconds) => narrative.wordAt(seconds)), [0, 0, 1, 2, 3]);
    assert.equal(narrativeOf({}).wordAt(1), -1);
  });

  test("characters are code points, as the server counts them", () => {
    const smiling = narrativeOf({ utterances: [utterance(0, { text: "🙂 hi", words: [{ start: 2, end: 4, first_sample: 0, end_sample: 10 }] })] });
    assert.equal(smiling.words[0].text, "hi");
  });

  test("chunks have their places, and the wait for the first is known", () => {
    assert.deepEqual(narrative.utterances[1].chunks, [{ from: 2, to: 2.5 }, { from: 2.5, to: 4 }]);
    assert.equal(narrative.utterances[1].firstAudioSeconds, 0.25);
    assert.equal(narrativeOf({ utterances: [utterance(0, { chunks: [] })] }).utterances[0].firstAudioSeconds, null);
  });

  test("tells which worker spoke which part, by the sample or by the loss", () => {
    const parts = (more, events) => narrativeOf({ utterances: [utterance(1, more)], events }).utterances[0].segments;
    assert.deepEqual(parts({}, []), [{ from: 2, to: 4, worker: "w0" }]);
    const moved = [{ at: 1.4, kind: "moved", index: 1, worker_id: "w1", sample: 800 }];
    assert.deepEqual(parts({ workers: ["w0", "w1"] }, moved), [{ from: 2, to: 2.8, worker: "w0" }, { from: 2.8, to: 4, worker: "w1" }]);
    const lost = [{ at: 1.4, kind: "worker_lost", worker_id: "w0" }];
    assert.deepEqual(parts({ workers: ["w0", "w1"] }, lost), [{ from: 2, to: 2.5, worker: "w0" }, { from: 2.5, to: 4, worker: "w1" }]);
  });

  test("events are told in the order of time", () => {
    assert.deepEqual(narrative.events.map(({ kind, at }) => [kind, at]), [["utterance", 0], ["cancel", 0.5], ["utterance", 1]]);
  });

  test("an utterance that never got audio is text all the same", () => {
    const silent = narrativeOf({ utterances: [utterance(0, { sample_rate: null, samples: 0, words: [], chunks: [], workers: [] })] });
    assert.equal(silent.utterances[0].points.join(""), "One two.");
    assert.deepEqual([silent.utterances[0].from, silent.words.length], [0, 0]);
  });
});

test("interruptions are places in the audio", () => {
  assert.deepEqual(interruptions(timeline), [1.5]);
  assert.deepEqual(interruptions({ events: [{ kind: "cancel" }, { kind: "pause" }], sample_rate: 1000 }), []);
});

test("an event tells its plain facts and nothing that is not text", () => {
  assert.equal(eventFacts({ at: 1, kind: "moved", from_worker: "w0", attempt: 2, more: { x: 1 } }, 1000), "from worker w0 · attempt 2");
  assert.equal(eventFacts({ at: 1, kind: "cancel", played_samples: 63_400 }, 1000), "heard up to 1:03.4");
});

test("a session is told by length, size, and what is special about it", () => {
  const session = { audio_seconds: 64.6, size_bytes: 3 << 20, utterances: 1, voice: "default" };
  assert.equal(sizeFacts(session), "1 min 5 s · 3.0 MiB");
  assert.equal(sizeFacts({ ...session, utterances: 3, voice: "slt" }), "1 min 5 s · 3.0 MiB · 3 utterances · slt");
  assert.equal(titleOf({ title: "  " }), "Untitled");
});

test("a seed is told of one utterance", () => {
  assert.equal(seedText({ utterances: 1, seed: 0 }), "seed 0");
  assert.equal(seedText({ utterances: 2, seed: 7 }), "");
  assert.equal(seedText({ utterances: 1, seed: null }), "");
});

test("the studio speaks what was said, with its voice, and the seed of a single utterance", () => {
  const session = { voice: "ruth", seed: 7 };
  const told = (count) => ({ session, timeline: { utterances: timeline.utterances.slice(0, count) } });
  assert.deepEqual(fromFragment(studioAddress(told(1)).slice(1)), { text: "One two.", voice: "ruth", format: undefined, parameters: { seed: 7 } });
  assert.deepEqual(fromFragment(studioAddress(told(2)).slice(1)), { text: "One two.\nOne two.", voice: "ruth", format: undefined, parameters: {} });
});

test("the studio speaks it as it was told to", () => {
  const told = { cfg_value: 2.5, inference_timesteps: null, temperature: 0, instructions: "calm & slow" };
  const utterances = [utterance(0, { parameters: { ...told, speed: 2, seed: 7 } })];
  const { parameters } = fromFragment(studioAddress({ session: { voice: "ruth", seed: 7 }, timeline: { utterances } }).slice(1));
  assert.deepEqual(parameters, { cfg_value: 2.5, temperature: 0, instructions: "calm & slow", seed: 7 });
});

describe("the list", () => {
  const asked = [];
  const pages = new Pages((before) => new Promise((resolve, reject) => asked.push({ before, resolve, reject })));
  const page = (next, ...ids) => ({ sessions: ids.map((id) => ({ id })), next_before: next });
  const shown = () => pages.sessions.map(({ id }) => id).join("");

  test("shows a page once that was asked for twice, and nothing that was deleted meanwhile", async () => {
    const first = pages.newest();
    asked.pop().resolve(page("b", "a", "b"));
    assert.equal(await first, true);
    const twice = [pages.following(), pages.following()];
    pages.remove("a");
    assert.deepEqual(asked.map(({ before }) => before), ["b", "b"]);
    for (const { resolve } of asked.splice(0)) resolve(page(null, "c", "d"));
    assert.deepEqual(await Promise.all(twice), [false, true]);
    assert.deepEqual([shown(), pages.more], ["bcd", false]);
  });

  test("leaves what another question has overtaken aside, also where it fails", async () => {
    const twice = [pages.following(), pages.newest()];
    asked[0].reject(new Error("too late"));
    asked[1].resolve(page(null, "e"));
    assert.deepEqual(await Promise.all(twice), [false, true]);
    assert.equal(shown(), "e");
  });
});

describe("pages of recordings that are asked for again", () => {
  const PAGES = { null: ["abc", "c"], c: ["def", "f"], f: ["ghi", "i"], i: ["j", null] };
  const kept = { ...PAGES };
  let active;
  let asked;
  const ask = async (before) => {
    asked.push(before);
    const [ids, next] = PAGES[before];
    return { sessions: [...ids].map((id) => ({ id, state: active.includes(id) ? "active" : "complete" })), next_before: next };
  };
  const shown = (pages) => pages.sessions.map(({ id }) => id).join("");
  /** Three pages of them are listed. */
  const listed = async (whileActive) => {
    Object.assign(PAGES, kept);
    asked = [];
    active = whileActive;
    const pages = new Pages(ask);
    await pages.newest();
    await pages.following();
    await pages.following();
    asked = [];
    return pages;
  };

  test("are as many as reach what is being recorded; the others stay", async () => {
    for (const [whileActive, befores] of [["a", [null]], ["e", [null, "c"]], ["bh", [null, "c", "f"]]]) {
      const pages = await listed(whileActive);
      await pages.again();
      assert.deepEqual([asked, shown(pages), pages.more], [befores, "abcdefghi", true]);
    }
  });

  test("show what came, and what ended, and go on behind the last", async () => {
    const pages = await listed("b");
    PAGES.null = ["xab", "b"];
    active = "x";
    await pages.again();
    assert.deepEqual([asked, shown(pages)], [[null], "xabcdefghi"]);
    assert.deepEqual(pages.sessions.filter(({ state }) => state === "active").map(({ id }) => id), ["x"]);
    await pages.following();
    assert.deepEqual([shown(pages), pages.more], ["xabcdefghij", false]);
  });

  test("are all of them where nothing of the first is known", async () => {
    const pages = await listed("");
    PAGES.null = ["xyz", "z"];
    PAGES.z = ["abc", "c"];
    await pages.again();
    assert.deepEqual([asked, shown(pages)], [[null, "z"], "xyzabcdefghi"]);
  });

  test("have nothing that was deleted meanwhile", async () => {
    const pages = await listed("a");
    const again = pages.again();
    pages.remove("h");
    await again;
    assert.equal(shown(pages), "abcdefgi");
  });
});

describe("a recording in its row", () => {
  class Sound extends EventTarget {
    paused = true;
    ended = false;
    currentTime = 0;
    src = null;

    async play() {
      if (this.src === "blob:broken") throw new DOMException("no sound", "NotSupportedError");
      this.paused = false;
    }

    pause() {
      this.paused = true;
    }

    removeAttribute() {
      this.src = null;
    }
  }
  const one = { id: "s_1", audio_seconds: 3 };
  const other = { id: "s_2", audio_seconds: 3 };
  let sound;
  let player;

  beforeEach((t) => {
    globalThis.Audio = class extends Sound {
      constructor() {
        super();
        sound = this;
      }
    };
    t.mock.method(globalThis.sessionStorage, "getItem", () => "a key");
    t.mock.method(URL, "createObjectURL", ({ name }) => `blob:${name}`);
    t.mock.method(URL, "revokeObjectURL", () => {});
    player = new RowPlayer();
  });
  afterEach(() => delete globalThis.Audio);

  test("that could not be fetched, or played, is fetched anew", async (t) => {
    const answers = [new Error("away"), { name: "broken" }, { name: "broken" }, { name: "sound" }];
    t.mock.method(fleet, "sessionAudio", async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    });
    await assert.rejects(player.toggle(one), { message: "away" });
    assert.equal(player.id, null);
    await assert.rejects(player.toggle(one), { name: "NotSupportedError" });
    await player.toggle(one);
    assert.deepEqual([player.id, player.playing, sound.src], ["s_1", true, "blob:sound"]);
  });

  test("that does not come says what the service says, not the browser", async (t) => {
    const answers = [() => ({ name: "broken" }), () => { throw new Error("the disk is full"); }];
    t.mock.method(fleet, "sessionAudio", async () => answers.shift()());
    await assert.rejects(player.toggle(one), { message: "the disk is full" });
    assert.equal(player.id, null);
  });

  test("that comes after another was chosen disturbs that one in nothing", async (t) => {
    const asked = [];
    t.mock.method(fleet, "sessionAudio", () => new Promise((resolve, reject) => asked.push({ resolve, reject })));
    const first = player.toggle(one);
    const second = player.toggle(other);
    asked[1].resolve({ name: "other" });
    await second;
    await player.toggle(other);
    asked[0].resolve({ name: "one" });
    await first;
    assert.deepEqual([player.id, player.playing, sound.src], ["s_2", false, "blob:other"]);
    const third = player.toggle(one);
    const fourth = player.toggle(other);
    asked[2].reject(new Error("away"));
    asked[3].resolve({ name: "again" });
    await Promise.all([third, fourth]);
    assert.deepEqual([player.id, player.playing], ["s_2", true]);
  });
});

test("a file has the name that the service gives it", () => {
  assert.equal(fileNameOf(`attachment; filename="a b.zip"`), "a b.zip");
  assert.equal(fileNameOf(`inline; filename="__.wav"; filename*=UTF-8''%E5%A4%A9%E6%B0%94.wav`), "天气.wav");
  assert.equal(fileNameOf(null), "speech");
});

test("the samples of a WAV file are what was put into it", () => {
  const samples = Int16Array.of(1, -2, 300);
  assert.deepEqual(samplesOf(encodeWav([samples], 8000).buffer), samples);
  assert.equal(samplesOf(new ArrayBuffer(10)).length, 0);
});

test("a note between the header of a WAV file and its samples is no sound", () => {
  const samples = Int16Array.of(1, -2, 300);
  const plain = encodeWav([samples], 8000);
  const note = Uint8Array.of(...[..."LIST"].map((c) => c.charCodeAt(0)), 3, 0, 0, 0, 7, 7, 7, 0);
  const noted = Uint8Array.of(...plain.slice(0, 36), ...note, ...plain.slice(36), 9);
  assert.deepEqual(samplesOf(noted.buffer), samples);
});

test("the pages say everything in both languages", () => {
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
});
