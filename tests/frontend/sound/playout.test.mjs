/** What a listener hears, sample by sample: pre-roll, underruns, fades, pause, seek and stop. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FADE_SECONDS, Playout } from "../../../frontend/static/js/audio/playout.js";

const RATE = 16000;
const BLOCK = 128;
const FADE = FADE_SECONDS * RATE;
const PREROLL = 0.08 * RATE;

const ones = (count) => new Float32Array(count).fill(1);

/** Plays `samples` of output and returns them as one array. */
function play(playout, samples) {
  const blocks = [];
  for (let done = 0; done < samples; done += BLOCK) {
    const block = new Float32Array(BLOCK).fill(NaN);
    playout.pull(block);
    blocks.push(...block);
  }
  return blocks;
}

/** A ramp that never repeats a value, so that every sample can be told from every other. */
function ramp(from, count) {
  return Float32Array.from({ length: count }, (_, i) => (from + i + 1) / 1e6);
}

function heard(output) {
  return output.filter((sample) => sample !== 0);
}

/** The stretches of sound between silences. */
function runs(output) {
  const found = [];
  output.forEach((sample, i) => {
    if (sample === 0) return;
    if (i === 0 || output[i - 1] === 0) found.push([]);
    found.at(-1).push(sample);
  });
  return found;
}

/** The largest step between neighbours: a click is a large one. */
function largestStep(output) {
  return output.slice(1).reduce((largest, sample, i) => Math.max(largest, Math.abs(sample - output[i])), 0);
}

describe("pre-roll", () => {
  test("the first sample waits for the pre-roll, counted from the first chunk", () => {
    const playout = new Playout({ sampleRate: RATE });
    assert.equal(heard(play(playout, 10 * BLOCK)).length, 0);
    playout.push(ones(2560));
    const output = play(playout, 2 * PREROLL);
    const silence = output.findIndex((sample) => sample !== 0);
    assert.equal(silence, Math.ceil(PREROLL / BLOCK) * BLOCK);
  });

  test("a chunk and the pre-roll in hand start the clip at once", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(2560));
    playout.push(ones(PREROLL));
    assert.equal(play(playout, BLOCK)[0], 1);
  });

  test("a clip that is complete starts at once, however short", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(10));
    playout.end();
    assert.equal(heard(play(playout, BLOCK)).length, 10);
    assert.equal(playout.snapshot().state, "ended");
  });

  test("it is kept within 80 and 500 ms", () => {
    const playout = new Playout({ sampleRate: RATE, prerollSeconds: 0.01 });
    assert.equal(playout.prerollSeconds, 0.08);
    playout.setPreroll(3);
    assert.equal(playout.prerollSeconds, 0.5);
    playout.setPreroll(0.2);
    assert.equal(playout.prerollSeconds, 0.2);
  });

  test("a second chunk that is late by less than the pre-roll is not heard as a gap", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ramp(0, 1280));
    const first = play(playout, 1280 + PREROLL - 2 * FADE - BLOCK);
    playout.push(ramp(1280, 1280));
    playout.end();
    const output = heard([...first, ...play(playout, 4 * 1280)]);
    assert.deepEqual(output, [...ramp(0, 2560)]);
    assert.equal(playout.snapshot().underruns, 0);
  });
});

describe("underruns", () => {
  test("nothing is dropped: every sample that arrived is played, in order", () => {
    const playout = new Playout({ sampleRate: RATE });
    let output = [];
    for (let chunk = 0; chunk < 8; chunk += 1) {
      playout.push(ramp(chunk * 1000, 1000));
      output = [...output, ...play(playout, chunk % 2 ? 3000 : 500)];
    }
    playout.end();
    output = [...output, ...play(playout, 9000)];
    const { position, receivedSamples } = playout.snapshot();
    assert.equal(position, 8000);
    assert.equal(receivedSamples, 8000);
    const source = ramp(0, 8000);
    let start = 0;
    for (const run of runs(output)) {
      run.slice(FADE, -FADE).forEach((sample, i) => assert.equal(sample, source[start + FADE + i]));
      start += run.length + 1; // the last sample of a fade is zero
    }
    assert.equal(start, 8000 + 1);
  });

  test("a gap fades out and in again over 5 ms", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(3000));
    const before = play(playout, 6000);
    playout.push(ones(3000));
    playout.push(ones(6000));
    const output = [...before, ...play(playout, 6000)];
    assert.ok(largestStep(output.slice(output.indexOf(1))) <= 1 / FADE + 1e-6);
  });

  test("each gap counts once, when audio follows it, and doubles the pre-roll up to 500 ms", () => {
    const playout = new Playout({ sampleRate: RATE });
    const prerolls = [];
    for (let gap = 0; gap < 5; gap += 1) {
      playout.push(ones(1000));
      prerolls.push(playout.snapshot().prerollSeconds);
      play(playout, RATE);
    }
    assert.equal(playout.snapshot().underruns, 4);
    assert.deepEqual(prerolls, [0.08, 0.16, 0.32, 0.5, 0.5]);
  });

  test("running out where the clip ends is no underrun, even when the end is told late", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(1000));
    play(playout, RATE);
    playout.end();
    play(playout, BLOCK);
    assert.equal(playout.snapshot().underruns, 0);
    assert.equal(playout.snapshot().state, "ended");
  });

  test("the end of a complete clip is not faded", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(5 * BLOCK));
    playout.end();
    assert.deepEqual(play(playout, 5 * BLOCK), [...ones(5 * BLOCK)]);
  });
});

describe("transport", () => {
  function playing(samples = RATE) {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(samples));
    playout.end();
    play(playout, 10 * BLOCK);
    return playout;
  }

  test("pause fades within 5 ms and holds the place; play goes on from there", () => {
    const playout = playing();
    playout.pause();
    const output = play(playout, 4 * BLOCK);
    assert.ok(largestStep([1, ...output]) <= 1 / FADE + 1e-6);
    assert.equal(playout.snapshot().state, "paused");
    const { position } = playout.snapshot();
    assert.equal(position, 10 * BLOCK + FADE);
    play(playout, RATE);
    assert.equal(playout.snapshot().position, position);
    playout.play();
    play(playout, 2 * BLOCK);
    assert.equal(playout.snapshot().position, position + 2 * BLOCK);
  });

  test("play right after pause, before the fade is over, goes on", () => {
    const playout = playing();
    playout.pause();
    playout.play();
    play(playout, BLOCK);
    assert.equal(playout.snapshot().state, "playing");
  });

  test("stop fades within 5 ms and is final", () => {
    const playout = playing();
    playout.stop();
    const output = play(playout, 2 * BLOCK);
    assert.ok(largestStep([1, ...output]) <= 1 / FADE + 1e-6);
    playout.play();
    playout.push(ones(1000));
    assert.equal(heard(play(playout, RATE)).length, 0);
    assert.equal(playout.snapshot().state, "stopped");
  });

  test("seek fades out, jumps and fades in", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ramp(0, RATE));
    playout.end();
    play(playout, 10 * BLOCK);
    playout.seek(8000);
    play(playout, 2 * BLOCK);
    const { position, state } = playout.snapshot();
    assert.equal(state, "playing");
    assert.equal(position, 8000 + BLOCK);
    assert.equal(play(playout, BLOCK).at(-1), ramp(0, RATE)[position + BLOCK - 1]);
  });

  test("seek stays within what has arrived, and waiting there for more is no underrun", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(4000));
    play(playout, PREROLL + 4 * BLOCK);
    playout.seek(1e9);
    play(playout, 4 * BLOCK);
    assert.equal(playout.snapshot().position, 4000);
    playout.push(ones(4000));
    play(playout, RATE);
    assert.equal(playout.snapshot().underruns, 0);
  });

  test("play after the end plays again from the start", () => {
    const playout = playing(20 * BLOCK);
    play(playout, 20 * BLOCK);
    assert.equal(playout.snapshot().state, "ended");
    playout.play();
    assert.equal(heard(play(playout, 30 * BLOCK)).length, 20 * BLOCK);
    assert.equal(playout.snapshot().playedSamples, 20 * BLOCK);
  });
});

test("a stream of twice the speed with 100 ms of jitter plays without an underrun", () => {
  const chunk = 0.16 * RATE;
  let seed = 7;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let run = 0; run < 50; run += 1) {
    const playout = new Playout({ sampleRate: RATE });
    const jitter = () => 0.1 * random() * RATE;
    const first = jitter();
    const arrivals = Array.from({ length: 40 }, (_, i) => Math.max(0, i * 0.08 * RATE + jitter() - first)).sort((a, b) => a - b);
    for (let now = 0; playout.snapshot().state !== "ended"; now += BLOCK) {
      while (arrivals.length > 0 && arrivals[0] <= now) {
        arrivals.shift();
        playout.push(ones(chunk));
        if (arrivals.length === 0) playout.end();
      }
      playout.pull(new Float32Array(BLOCK));
    }
    assert.equal(playout.snapshot().underruns, 0);
    assert.equal(playout.snapshot().position, 40 * chunk);
  }
});

describe("a live session", () => {
  test("what was flushed is never heard, and what comes next is", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(RATE));
    play(playout, 2 * PREROLL);
    playout.flush();
    const fading = play(playout, 2 * FADE);
    assert.ok(heard(fading).length <= FADE);
    assert.equal(heard(play(playout, RATE)).length, 0);
    const position = playout.snapshot().position;
    assert.equal(position, RATE);
    playout.push(ones(RATE));
    assert.ok(heard(play(playout, RATE)).length > 0.8 * RATE);
    assert.equal(playout.snapshot().underruns, 0);
  });

  test("what was heard is forgotten but for a second, and nothing else changes", () => {
    const [kept, forgetful] = [Infinity, 1].map((keptSeconds) => {
      const playout = new Playout({ sampleRate: RATE, keptSeconds });
      const output = [];
      for (let second = 0; second < 5; second += 1) {
        playout.push(ramp(second * RATE, RATE));
        if (second === 3) playout.setRate(1.5);
        output.push(...play(playout, RATE / 2));
      }
      const snapshot = playout.snapshot();
      playout.seek(0);
      play(playout, BLOCK); // it fades
      return { output, snapshot, first: playout.snapshot().position, after: play(playout, RATE / 2) };
    });
    assert.deepEqual([forgetful.output, forgetful.snapshot], [kept.output, kept.snapshot]);
    assert.equal(kept.first, 0);
    assert.equal(forgetful.first, RATE);
    assert.ok(forgetful.after.some((sample) => sample > 0), "and goes on from what is left");
  });

  test("waiting for text is no underrun, running dry is", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(ones(RATE / 2));
    playout.idle();
    play(playout, RATE);
    playout.push(ones(RATE / 2));
    assert.equal(playout.snapshot().underruns, 0);
    play(playout, RATE);
    playout.push(ones(RATE / 2));
    assert.equal(playout.snapshot().underruns, 1);
  });
});

describe("speed", () => {
  const PERIOD = 80; // 200 Hz
  const tone = (count) => Float32Array.from({ length: count }, (_, i) => 0.5 * Math.sin((2 * Math.PI * i) / PERIOD));

  /** All that is heard of a complete clip, until it has ended. */
  function whole(playout) {
    const output = [];
    for (let blocks = 0; playout.snapshot().state !== "ended" && blocks < 10000; blocks += 1) output.push(...play(playout, BLOCK));
    return output;
  }

  function complete(samples, rate) {
    const playout = new Playout({ sampleRate: RATE });
    playout.push(samples);
    playout.end();
    playout.setRate(rate);
    return playout;
  }

  for (const rate of [0.5, 0.75, 1.5, 2]) {
    test(`at ${rate} a clip takes its length over the rate, at the same pitch and level`, () => {
      const playout = complete(tone(RATE), rate);
      const output = whole(playout);
      assert.ok(Math.abs(output.length - RATE / rate) <= 2 * BLOCK, `${output.length} samples`);
      assert.equal(playout.snapshot().position, RATE);
      const inner = output.slice(1000, output.length - 1000);
      const crossings = inner.filter((sample, i) => i > 0 && inner[i - 1] < 0 && sample >= 0).length;
      assert.ok(Math.abs(crossings - inner.length / PERIOD) <= 0.02 * crossings + 1, `${crossings} periods`);
      assert.ok(largestStep(inner) < 1.5 * 0.5 * ((2 * Math.PI) / PERIOD));
      assert.ok(Math.max(...inner) > 0.45);
    });
  }

  test("at 1 every sample is the clip's own, also after another speed", () => {
    const samples = tone(RATE);
    assert.deepEqual(whole(complete(samples, 1)).slice(FADE, RATE - FADE), [...samples.slice(FADE, RATE - FADE)]);
    const playout = complete(samples, 2);
    play(playout, 4 * BLOCK);
    playout.setRate(1);
    const { position } = playout.snapshot();
    const count = 20 * BLOCK;
    play(playout, count);
    assert.ok(Math.abs(playout.snapshot().position - position - count) <= 0.015 * RATE);
  });

  test("a change in the middle does not click", () => {
    const playout = complete(tone(RATE), 1);
    const output = play(playout, 20 * BLOCK);
    playout.setRate(1.5);
    output.push(...play(playout, 20 * BLOCK));
    playout.setRate(0.5);
    output.push(...play(playout, 20 * BLOCK));
    assert.ok(largestStep(output) < 1.5 * 0.5 * ((2 * Math.PI) / PERIOD));
  });

  test("a clip that grows waits for what it looks ahead to, and is heard to its end", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.setRate(2);
    playout.push(tone(4000));
    play(playout, RATE);
    const { state, position, underruns } = playout.snapshot();
    assert.equal(state, "buffering");
    assert.ok(position > 3000 && position < 4000);
    assert.equal(underruns, 0);
    playout.end();
    whole(playout);
    assert.deepEqual([playout.snapshot().state, playout.snapshot().position], ["ended", 4000]);
  });

  test("is kept within half and double", () => {
    const playout = new Playout({ sampleRate: RATE });
    playout.setRate(9);
    assert.equal(playout.snapshot().rate, 2);
    playout.setRate(0.1);
    assert.equal(playout.snapshot().rate, 0.5);
  });
});
