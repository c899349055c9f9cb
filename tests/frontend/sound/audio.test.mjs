/** The pieces around playback: growing clip, PCM and WAV, waveform outline, jitter. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Clip } from "../../../frontend/static/js/audio/clip.js";
import { Envelope } from "../../../frontend/static/js/audio/envelope.js";
import { JitterEstimator } from "../../../frontend/static/js/audio/jitter.js";
import { JUDGED_AFTER_SECONDS, Pace } from "../../../frontend/static/js/audio/pace.js";
import { PcmDecoder, encodeWav, toFloat } from "../../../frontend/static/js/audio/pcm.js";

describe("Clip", () => {
  const numbers = (from, count) => Float32Array.from({ length: count }, (_, i) => from + i);

  test("reads across chunks, forward, backward and at the edges", () => {
    const clip = new Clip();
    for (const [from, count] of [[0, 5], [5, 1], [6, 0], [6, 9]]) clip.append(numbers(from, count));
    assert.equal(clip.length, 15);
    for (const [position, count] of [[0, 15], [4, 3], [14, 1], [0, 1], [5, 1], [6, 9], [15, 0], [3, 8]]) {
      const output = new Float32Array(count);
      clip.read(position, output, count);
      assert.deepEqual(output, numbers(position, count));
    }
  });

  test("refuses to read what has not arrived", () => {
    const clip = new Clip();
    clip.append(numbers(0, 3));
    assert.throws(() => clip.read(2, new Float32Array(2), 2), RangeError);
    assert.throws(() => clip.read(-1, new Float32Array(2), 2), RangeError);
  });
});

describe("a clip that forgets", () => {
  test("lets go of whole chunks, and reads on behind them", () => {
    const clip = new Clip();
    for (const chunk of [[1, 2], [3, 4], [5, 6]]) clip.append(Float32Array.from(chunk));
    const output = new Float32Array(2);
    clip.read(4, output, 2);
    clip.forget(3);
    assert.deepEqual([clip.first, clip.length], [2, 6]);
    clip.read(3, output, 2);
    assert.deepEqual([...output], [4, 5]);
    assert.throws(() => clip.read(1, output, 1), RangeError);
    clip.forget(6);
    assert.deepEqual([clip.first, clip.length], [6, 6]);
    clip.append(Float32Array.of(7));
    clip.read(6, output, 1);
    assert.equal(output[0], 7);
  });
});

describe("PCM", () => {
  const bytes = (...values) => Uint8Array.from(values).buffer;

  test("is little-endian, and the half sample at the end of a frame waits for the next", () => {
    const decoder = new PcmDecoder();
    assert.deepEqual([...decoder.push(bytes(0x01, 0x00, 0xff))], [1]);
    assert.deepEqual([...decoder.push(bytes(0xff, 0x00))], [-1]);
    assert.deepEqual([...decoder.push(bytes(0x80))], [-32768]);
    assert.deepEqual([...decoder.push(bytes())], []);
  });

  test("full scale becomes one", () => {
    assert.deepEqual([...toFloat(Int16Array.of(-32768, 0, 16384))], [-1, 0, 0.5]);
  });

  test("a WAV file has the header of RIFF and every sample", () => {
    const wav = encodeWav([Int16Array.of(1, -2), Int16Array.of(300)], 48000);
    const view = new DataView(wav.buffer);
    const tag = (offset) => String.fromCharCode(...wav.subarray(offset, offset + 4));
    assert.deepEqual([tag(0), tag(8), tag(12), tag(36)], ["RIFF", "WAVE", "fmt ", "data"]);
    assert.equal(view.getUint32(4, true), wav.length - 8);
    assert.equal(view.getUint32(24, true), 48000);
    assert.equal(view.getUint32(28, true), 96000);
    assert.equal(view.getUint32(40, true), 6);
    assert.deepEqual([44, 46, 48].map((offset) => view.getInt16(offset, true)), [1, -2, 300]);
  });
});

describe("Envelope", () => {
  test("keeps the loudest sample of every 10 ms, however the samples are cut", () => {
    const samples = Int16Array.from({ length: 400 }, (_, i) => (i === 137 ? -16384 : 100));
    const whole = new Envelope(10000);
    whole.push(samples);
    const pieces = new Envelope(10000);
    for (let i = 0; i < 400; i += 7) pieces.push(samples.subarray(i, i + 7));
    assert.deepEqual(pieces.columns(4, 0.04), whole.columns(4, 0.04));
    assert.deepEqual([...whole.columns(4, 0.04)].map((peak) => peak.toFixed(3)), ["0.003", "0.500", "0.003", "0.003"]);
    assert.equal(whole.seconds, 0.04);
    assert.equal(whole.loudest, 0.5);
  });

  test("columns beyond what has arrived are empty", () => {
    const envelope = new Envelope(10000);
    envelope.push(new Int16Array(200).fill(32767));
    const columns = envelope.columns(4, 0.04);
    assert.ok(columns[1] > 0.99);
    assert.ok(Number.isNaN(columns[2]) && Number.isNaN(columns[3]));
  });
});

describe("JitterEstimator", () => {
  test("is the delay that would have hidden every late chunk", () => {
    const jitter = new JitterEstimator();
    jitter.beginUtterance();
    for (const [arrival, chunk] of [[10, 0.16], [10.2, 0.16], [10.25, 0.16], [10.6, 0.16]]) jitter.observe(arrival, chunk);
    assert.ok(Math.abs(jitter.seconds - 0.12) < 1e-9);
  });

  test("is zero for a steady stream that is faster than real time", () => {
    const jitter = new JitterEstimator();
    jitter.beginUtterance();
    for (let i = 0; i < 20; i += 1) jitter.observe(i * 0.05, 0.16);
    assert.equal(jitter.seconds, 0);
  });

  test("remembers the last utterances and forgets older ones", () => {
    const jitter = new JitterEstimator();
    jitter.beginUtterance();
    jitter.observe(0, 0.1);
    jitter.observe(0.4, 0.1);
    jitter.beginUtterance();
    assert.ok(jitter.seconds > 0.29);
    for (let i = 0; i < 4; i += 1) jitter.beginUtterance();
    assert.equal(jitter.seconds, 0);
  });
});

describe("Pace", () => {
  const arrivals = (pace, chunkSeconds, interval, count) => {
    for (let i = 0; i < count; i++) pace.observe(100 + i * interval, chunkSeconds);
    return pace.slow;
  };

  test("is slow when chunks take longer to come than to be heard", () => {
    assert.equal(arrivals(new Pace(), 0.16, 0.2, 20), true);
    assert.equal(arrivals(new Pace(), 0.16, 0.16, 20), false);
    assert.equal(arrivals(new Pace(), 0.16, 0.03, 20), false);
  });

  test("is not judged by the first moments, nor by the wait for the first chunk", () => {
    assert.equal(arrivals(new Pace(), 0.16, 0.3, 1 + Math.floor(JUDGED_AFTER_SECONDS / 0.3) - 1), false);
    const pace = new Pace();
    pace.observe(5, 0.16);
    for (let i = 1; i < 40; i++) pace.observe(5 + i * 0.1, 0.16);
    assert.equal(pace.slow, false);
  });

  test("recovers, and begins anew with an utterance", () => {
    const pace = new Pace();
    arrivals(pace, 0.16, 0.2, 20);
    pace.observe(104.1, 4);
    assert.equal(pace.slow, false);
    arrivals(pace, 0.16, 0.2, 20);
    pace.begin();
    assert.equal(pace.slow, false);
  });
});
