/** What the studio page is made of, without a browser: session, utterance, countdown, curl, estimates. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { Countdown } from "../../../frontend/static/js/shared/notices/countdown.js";
import { curlCommand, shellQuote } from "../../../frontend/static/js/studio/snippets.js";
import { fileStem } from "../../../frontend/static/js/studio/history/download.js";
import { characterCount, estimateSeconds } from "../../../frontend/static/js/studio/request/estimate.js";
import { Subtitles } from "../../../frontend/static/js/shared/hearing/subtitles.js";
import { drawSeed } from "../../../frontend/static/js/studio/request/parameters.js";
import { wordAt } from "../../../frontend/static/js/shared/hearing/lit-words.js";
import { timedWords } from "../../../frontend/static/js/shared/hearing/lit-words.js";
import { Utterance } from "../../../frontend/static/js/studio/utterance.js";
import { figureBars } from "../../../frontend/static/js/voices/choosing/voice-figure.js";

describe("Subtitles", () => {
  const { text, parts, files } = JSON.parse(readFileSync(new URL("../../gateway/timing/subtitles.json", import.meta.url)));

  test("are the same files as the server's", async () => {
    const subtitles = new Subtitles(text, parts);
    for (const [format, content] of Object.entries(files)) assert.equal(await subtitles.file(format).text(), content);
    const { words, cues, source } = JSON.parse(await subtitles.file("json").text());
    assert.deepEqual([words.length, cues.length, source], [4, 2, "mixed"]);
  });

  test("stand in the order of the text, and a part that comes again counts once", () => {
    const subtitles = new Subtitles(text, [parts[1], parts[0], parts[1]]);
    assert.deepEqual(subtitles.parts, parts);
    assert.equal(new Subtitles(text).source, null);
    assert.equal(new Subtitles(text, [parts[0]]).source, "aligned");
  });
});

test("words of a clip have their places in the text and in the audio", () => {
  const part = { source: "estimated", cues: [], words: [{ text: "Hi", start: 3, end: 5, start_seconds: 0.5, end_seconds: 0.75 }] };
  const later = { ...part, words: [{ text: "you", start: 6, end: 9, start_seconds: 0.75, end_seconds: 1 }] };
  const words = timedWords(new Subtitles("🙂, Hi you", [later, part]).parts);
  assert.deepEqual(words, [{ start: 3, end: 5, from: 0.5, to: 0.75 }, { start: 6, end: 9, from: 0.75, to: 1 }]);
  assert.deepEqual([0, 0.5, 0.8, 5].map((seconds) => wordAt(words, seconds)), [-1, 0, 1, 1]);
});

describe("Utterance", () => {
  const pcm = (...samples) => Int16Array.from(samples).buffer;

  test("measures from the request to the first audio, and the speed from the start on", () => {
    const utterance = new Utterance({ text: "Hi." }, 10);
    utterance.start({ sample_rate: 100, worker_id: "w" }, 12);
    utterance.receive(pcm(...new Int16Array(100)), 12.5);
    utterance.receive(pcm(...new Int16Array(100)), 13);
    assert.equal(utterance.firstAudioSeconds, 2.5);
    assert.equal(utterance.audioSeconds, 2);
    assert.equal(utterance.realTimeFactor, 0.5);
  });

  test("has no speed before there is audio", () => {
    assert.equal(new Utterance({}, 0).realTimeFactor, null);
    assert.equal(new Utterance({}, 0).audioSeconds, 0);
  });

  test("becomes a WAV file of what has arrived", async () => {
    const utterance = new Utterance({ text: "Hi." }, 0);
    utterance.start({ sample_rate: 100, worker_id: "w" }, 0);
    utterance.receive(pcm(1, 2), 1);
    utterance.receive(pcm(3), 1);
    const bytes = new Uint8Array(await utterance.wav().arrayBuffer());
    assert.deepEqual([...new Int16Array(bytes.buffer, 44)], [1, 2, 3]);
  });
});

describe("Countdown", () => {
  test("runs down with the clock, and below zero counts the overtime", () => {
    const countdown = new Countdown();
    countdown.update(3, 0);
    assert.deepEqual([0, 0.5, 1.2, 2.9, 3, 3.5, 4, 9].map((now) => countdown.remaining(now)), [3, 3, 2, 1, 0, 0, -1, -6]);
  });

  test("never jumps up, whatever the server's estimates do", () => {
    const countdown = new Countdown();
    let shown = Infinity;
    [10, 14, 12, 3, 30, 2, 8, 1, 20].forEach((eta, second) => {
      countdown.update(eta, second);
      for (const part of [0, 0.3, 0.9]) {
        const next = countdown.remaining(second + part);
        assert.ok(next <= shown);
        shown = next;
      }
    });
  });

  test("holds until time has caught up with a longer estimate", () => {
    const countdown = new Countdown();
    countdown.update(5, 0);
    assert.equal(countdown.remaining(0), 5);
    countdown.update(9, 1);
    assert.deepEqual([1, 4, 5, 6].map((now) => countdown.remaining(now)), [5, 5, 5, 4]);
  });

  test("is unknown while the server can not tell", () => {
    const countdown = new Countdown();
    assert.equal(countdown.remaining(0), null);
    countdown.update(4, 0);
    countdown.update(null, 1);
    assert.equal(countdown.remaining(1), null);
    countdown.update(20, 2);
    assert.equal(countdown.remaining(2), 20);
  });
});

describe("curl", () => {
  test("a shell reads back exactly what was quoted", () => {
    for (const text of ["plain", "It's late", `"$(reboot)" \`id\` \\ !x`, "two\nlines", "''", "好"]) {
      const echoed = execFileSync("sh", ["-c", `printf %s ${shellQuote(text)}`], { encoding: "utf8" });
      assert.equal(echoed, text);
    }
  });

  test("the command carries the request and names the file after its format", () => {
    const request = { text: "It's late.", voice: "slt", format: "mp3" };
    const command = curlCommand("http://host:8006", request);
    const script = `curl() { for last; do printf '%s\\0' "$last"; done; }\n${command}`;
    const words = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);
    assert.ok(words.includes("http://host:8006/tts"));
    assert.deepEqual(JSON.parse(words[words.indexOf("-d") + 1]), request);
    assert.equal(words[words.indexOf("--output") + 1], "speech.mp3");
  });
});

test("characters are code points, as the server counts them", () => {
  assert.equal(characterCount("a😀é"), 3);
});

test("the estimate knows letters, ideographs and blank text", () => {
  assert.equal(estimateSeconds("  \n "), 0);
  assert.equal(estimateSeconds("a".repeat(150)), 10);
  assert.equal(estimateSeconds("好".repeat(45)), 10);
});

test("seeds are whole numbers that fit 31 bits", () => {
  assert.equal(drawSeed(() => 0), 0);
  assert.equal(drawSeed(() => 1 - 2 ** -53), 2 ** 31 - 1);
});

test("a voice always has the same figure, and others another", () => {
  assert.deepEqual(figureBars("slt"), figureBars("slt"));
  assert.notDeepEqual(figureBars("slt"), figureBars("rms"));
  for (const height of figureBars("awb")) assert.ok(height >= 0.25 && height <= 1);
});

test("a file is named after the first words of its text", () => {
  assert.equal(fileStem("The quick, brown fox jumps over it."), "the-quick-brown-fox-jumps-over");
  assert.equal(fileStem("../../etc/passwd"), "etc-passwd");
  assert.equal(fileStem("你好 world"), "你好-world");
  assert.equal(fileStem("?!"), "speech");
});
