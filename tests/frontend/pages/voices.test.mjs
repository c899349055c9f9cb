/** Making a voice: what a take is worth, how loud a microphone is, which voices a search finds. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decodeWav } from "../../../frontend/static/js/audio/pcm.js";
import { judge, onScale } from "../../../frontend/static/js/voices/take/level-meter.js";
import { marksOf } from "../../../frontend/static/js/voices/take/examination.js";
import { loudness, matchedVolumes } from "../../../frontend/static/js/voices/making/levels.js";
import { Take } from "../../../frontend/static/js/voices/take/take.js";
import { lackOf } from "../../../frontend/static/js/voices/lack.js";
import { matching } from "../../../frontend/static/js/voices/choosing/voice-filter.js";

const RATE = 1000;

describe("a take", () => {
  test("is the samples in order, and keeps what lies between its handles", async () => {
    const take = new Take([Float32Array.of(0.1, 0.2), Float32Array.of(0.3, 0.4)], 2);
    assert.equal(take.seconds, 2);
    take.trim(0.5, 1.5);
    assert.deepEqual([...take.kept].map((sample) => sample.toFixed(1)), ["0.2", "0.3"]);
    take.trim(-1, 9);
    assert.equal(take.kept.length, 4);
  });

  test("becomes a WAV file, full scale included", async () => {
    const take = new Take([Float32Array.of(0, 1, -1, 1.5)], 8000);
    const { samples, sampleRate } = decodeWav(await take.wav().arrayBuffer());
    assert.equal(sampleRate, 8000);
    assert.deepEqual([...samples], [0, 32767, -32767, 32767]);
  });

  test("is drawn with one peak per column", () => {
    const take = new Take([Float32Array.of(0, 0.5, 0, 0), Float32Array.of(0, 0, 0, -0.25)], RATE);
    assert.deepEqual([...take.columns(2)], [0.5, 0.25]);
  });
});

describe("the level meter", () => {
  test("its scale is decibels from the floor to full scale", () => {
    assert.equal(onScale(0), 0);
    assert.equal(onScale(1), 1);
    assert.equal(onScale(1e-6), 0);
    assert.ok(onScale(0.5) > 0.85 && onScale(0.5) < 0.95);
  });

  test("a pause between words is not too quiet", () => {
    assert.equal(judge([0.2, 0.001, 0.001]), "good");
    assert.equal(judge([0.01, 0.005]), "quiet");
    assert.equal(judge([0.3, 0.999]), "hot");
    assert.equal(judge([]), "quiet");
  });
});

describe("the search of voices", () => {
  const voices = [
    { id: "default", name: "Default", language: null, tags: [] },
    { id: "v1", name: "Ada", language: "en", tags: ["calm", "low"], description: "narrator" },
    { id: "v2", name: "小美", language: "zh", tags: ["warm"] },
  ];
  const ids = (...query) => matching(voices, ...query).map(({ id }) => id);

  test("every word must be found, in name, tags, language or description", () => {
    assert.deepEqual(ids("ADA calm"), ["v1"]);
    assert.deepEqual(ids("narr low"), ["v1"]);
    assert.deepEqual(ids("ada warm"), []);
    assert.deepEqual(ids("小"), ["v2"]);
    assert.deepEqual(ids("  "), ["default", "v1", "v2"]);
  });

  test("capitals, accents and the form of letters do not count", () => {
    const names = ["Café Zoë", "Cafe\u0301 Zoe\u0308", "İstanbul", "Große Œuvre", "ΣΟΦΟΣ", "Ёлка", "ガイド"];
    const found = (search) => matching(names.map((name, id) => ({ id, name })), search).map(({ id }) => id);
    assert.deepEqual(found("cafe zoë"), [0, 1]);
    assert.deepEqual(found("CAFE\u0301"), [0, 1]);
    assert.deepEqual(found("istanbul"), [2]);
    assert.deepEqual(found("grosse œuvre"), [3]);
    assert.deepEqual(found("σοφος"), [4]);
    assert.deepEqual(found("елка"), [5]);
    assert.deepEqual(found("カ"), [6]);
    assert.deepEqual(found("カイド"), []);
  });

  test("a style is found as the cards write it", () => {
    assert.deepEqual(ids("#warm"), ["v2"]);
  });

  test("a language leaves out the others", () => {
    assert.deepEqual(ids("", "zh"), ["v2"]);
    assert.deepEqual(ids("a", "en"), ["v1"]);
  });
});

describe("a recording beside its clone", () => {
  const sine = (level, seconds) => Float32Array.from({ length: seconds * RATE }, (_, i) => level * Math.sin(i / 3));

  test("is as loud as its louder half: pauses do not count", () => {
    const paused = Float32Array.of(...sine(0.5, 2), ...new Float32Array(RATE));
    assert.ok(Math.abs(loudness(paused, RATE) - 0.5 / Math.SQRT2) < 0.01);
    assert.equal(loudness(new Float32Array(3), RATE), 0);
  });

  test("the louder one is turned down", () => {
    assert.deepEqual(matchedVolumes(0.2, 0.1), [0.5, 1]);
    assert.deepEqual(matchedVolumes(0.01, 0.5), [1, 0.1]);
    assert.deepEqual(matchedVolumes(0, 0.5), [1, 1]);
  });
});

test("what a voice lacks is told, and that it is a consent where a gateway says no more", () => {
  assert.equal(lackOf({ usable: true, lacks: null }), null);
  assert.equal(lackOf({}), null);
  assert.equal(lackOf({ usable: false, lacks: "adapter" }), "adapter");
  assert.equal(lackOf({ usable: false }), "consent");
});

test("marks stand where the take has what was found, which is no mere information", () => {
  const regions = [{ start_seconds: 1, end_seconds: 2 }];
  const checks = [{ severity: "warning", regions }, { severity: "error" }, { severity: "info", regions }];
  assert.deepEqual(marksOf(checks, 0.5), [{ from: 1.5, to: 2.5 }]);
});
