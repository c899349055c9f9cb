/** What the live page is made of, without a browser: words that can be sent, tokens, samples, the script, buttons. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import en from "../../../frontend/static/js/i18n/en/live.js";
import zh from "../../../frontend/static/js/i18n/zh/live.js";
import { faces } from "../../../frontend/static/js/live/controls.js";
import { minutes } from "../../../frontend/static/js/i18n/format.js";
import { SampleMap } from "../../../frontend/static/js/live/sample-map.js";
import { Script } from "../../../frontend/static/js/live/script.js";
import { newest } from "../../../frontend/static/js/live/transcript-memory.js";
import { TokenFeed } from "../../../frontend/static/js/live/token-feed.js";
import { takeWords, tokensOf } from "../../../frontend/static/js/live/word-gate.js";

describe("takeWords", () => {
  test("sends whole words and keeps the one that is being typed", () => {
    assert.deepEqual(takeWords("Good morning, ev"), ["Good morning, ", "ev"]);
    assert.deepEqual(takeWords("word"), ["", "word"]);
    assert.deepEqual(takeWords("one\ntwo\n"), ["one\ntwo\n", ""]);
    assert.deepEqual(takeWords(""), ["", ""]);
  });

  test("every character of a script without spaces is a word", () => {
    assert.deepEqual(takeWords("今天天气"), ["今天天气", ""]);
    assert.deepEqual(takeWords("你好，wor"), ["你好，", "wor"]);
  });
});

describe("tokensOf", () => {
  test("together they are the text, and none is long", () => {
    for (const text of ["An extraordinary  sentence, isn't it?\n", "今天 is nice", "  ", "🙂 ok"]) {
      const tokens = tokensOf(text);
      assert.equal(tokens.join(""), text);
      assert.ok(tokens.every((token) => [...token.trim()].length <= 6));
    }
    assert.deepEqual(tokensOf("wonderful day"), ["wonder", "ful", " day"]);
    assert.deepEqual(tokensOf(""), []);
  });
});

describe("what is kept", () => {
  test("unspoken are the sentences that are not complete, and what waits behind them", () => {
    const script = new Script();
    script.append("One. Two. Three. Fo");
    assert.equal(script.unspoken, "One. Two. Three. Fo");
    script.utterance({ index: 0, start: 0, end: 5, first_sample: 0 });
    script.utterance({ index: 1, start: 5, end: 10, first_sample: 100 });
    assert.equal(script.unspoken, "One. Two. Three. Fo");
    script.done({ index: 0, last_sample: 100 });
    assert.equal(script.unspoken, "Two. Three. Fo");
    assert.equal(script.unheardAfter(2), "One. Two. Three. Fo", "what came is not heard yet");
    assert.equal(script.unheardAfter(5), "Two. Three. Fo");
    script.cancelled(7, 17);
    assert.equal(script.unspoken, "Fo", "what was dropped is not spoken anew");
    assert.equal(script.unheardAfter(7), "Fo");
  });

  test("of a long transcript the newest paragraphs", () => {
    const paragraphs = ["aaaa", "bbbb", "cccc"].map((text) => [[text, "heard"]]);
    assert.deepEqual(newest(paragraphs, 8), paragraphs.slice(1));
    assert.deepEqual(newest(paragraphs, 1), paragraphs.slice(2));
    assert.deepEqual(newest(paragraphs, 100), paragraphs);
    assert.deepEqual(newest([], 1), []);
  });
});

describe("TokenFeed", () => {
  test("brings as many tokens as are due, whole ones, and stops with the text", () => {
    const taken = [];
    let left = 5;
    const feed = new TokenFeed({
      rate: () => 30,
      take: (count) => {
        taken.push(count);
        left -= count;
        return left > 0;
      },
    });
    feed.start();
    assert.equal(feed.running, true);
    for (let tick = 0; tick < 4 && feed.running; tick += 1) feed.tick(50);
    assert.deepEqual(taken, [2, 2, 1]);
    assert.equal(feed.running, false);
  });
});

test("a sample of the player is found in the session, though a barge-in made some void", () => {
  const map = new SampleMap();
  assert.equal(map.toSession(0), 0);
  map.add(0, 1000);
  map.add(1000, 1000);
  map.add(5000, 500);
  assert.equal(map.toSession(1500), 1500);
  assert.equal(map.toSession(2000), 5000);
  assert.equal(map.toSession(2400), 5400);
  assert.deepEqual([0, 1500, 2000, 4000, 5000, 5400, 9000].map((at) => map.toPlayer(at)), [0, 1500, 2000, 2000, 2000, 2400, 2500]);
});

describe("Script", () => {
  const script = (text) => {
    const made = new Script();
    made.sampleRate = 15_000;
    made.append(text);
    return made;
  };

  test("tells the character that is heard from the samples of its utterance", () => {
    const made = script("One two. Three four.");
    made.utterance({ index: 0, start: 0, end: 9, first_sample: 0 });
    made.done({ index: 0, last_sample: 9000 });
    made.utterance({ index: 1, start: 9, end: 20, first_sample: 9000 });
    assert.equal(made.characterAt(0), 0);
    assert.equal(made.characterAt(4500), 4);
    assert.equal(made.characterAt(9000), 9);
    assert.equal(made.characterAt(9000 + 5 * 1000 + 1), 14); // at the speed of the first
    assert.equal(made.characterAt(1e9), 20);
  });

  test("words light up when they are said, once that is told", () => {
    const made = script("One two. Three.");
    const said = (start, end, since, until) => ({ start, end, start_seconds: since, end_seconds: until });
    made.utterance({ index: 0, start: 0, end: 9, first_sample: 0 });
    made.done({ index: 0, last_sample: 30_000 });
    made.utterance({ index: 1, start: 9, end: 15, first_sample: 30_000 });
    made.timed({ index: 0, words: [said(0, 3, 0.2, 0.8), said(4, 8, 1.6, 1.8)] });
    const at = (seconds) => made.characterAt(seconds * 15_000);
    assert.equal(at(0.1), 0);
    assert.ok(at(0.2) > 0 && at(0.79) < 3);
    assert.deepEqual([at(0.8), at(1.5)], [3, 3]);
    assert.ok(at(1.6) > 4 && at(1.7) < 8);
    assert.deepEqual([at(1.8), at(2)], [8, 9]);
    made.timed({ index: 1, words: [said(9, 15, 2.5, 3)] });
    assert.equal(at(2.4), 9);
    assert.ok(at(2.6) > 9 && at(2.9) < 15);
    made.cancelled(2, made.length);
    assert.equal(at(1.7), 2);
  });

  test("all of an utterance was heard at its end, though its last word ends later, by rounding", () => {
    const made = script("One.");
    made.utterance({ index: 0, start: 0, end: 4, first_sample: 100 });
    made.timed({ index: 0, words: [{ start: 0, end: 4, start_seconds: 0.007, end_seconds: 0.108 }] });
    made.done({ index: 0, last_sample: 1619 }); // 0.10793 s
    assert.ok(made.characterAt(1618) < 4);
    assert.equal(made.characterAt(1619), 4);
  });

  test("an utterance that is longer than guessed is stretched by what has come", () => {
    const made = script("abcdefghij");
    made.utterance({ index: 0, start: 0, end: 10, first_sample: 0 });
    made.received(20_000);
    assert.equal(made.characterAt(10_000), 5);
  });

  test("a barge-in drops what was appended and not heard, and nothing that comes after", () => {
    const made = script("One two. Three four. ");
    made.utterance({ index: 0, start: 0, end: 9, first_sample: 0 });
    made.received(9000);
    made.cancelled(4, made.length);
    made.append("Five. ");
    assert.deepEqual([3, 4, 20, 21].map((at) => made.isDropped(at)), [false, true, true, false]);
    assert.equal(made.characterAt(1e9), 4);
    assert.equal(made.waiting, 6);
    made.utterance({ index: 1, start: 21, end: 27, first_sample: 9000 });
    assert.equal(made.characterAt(9000), 4);
    assert.ok(made.characterAt(12_000) > 21);
    assert.equal(made.characterAt(1e9), 27);
  });

  test("counts characters as the server does: a smile is one", () => {
    const made = script("🙂 two");
    assert.equal(made.length, 5);
    assert.equal(made.text(2, 5), "two");
  });

  test("silence is a gap only while a whole sentence waits", () => {
    const made = script("One. Two");
    made.utterance({ index: 0, start: 0, end: 5, first_sample: 0 });
    assert.equal(made.hasSentence, false);
    made.append(" done.");
    assert.equal(made.hasSentence, true);
    assert.equal(script("今天。明").hasSentence, true);
  });

  test("counts utterances", () => {
    const made = script("One. Two.");
    made.utterance({ index: 0, start: 0, end: 5, first_sample: 0 });
    made.done({ index: 0, last_sample: 10 });
    made.utterance({ index: 1, start: 5, end: 9, first_sample: 10 });
    assert.deepEqual([made.utterances, made.utterancesDone], [2, 1]);
  });
});

describe("buttons", () => {
  test("before and after a session there is only a start", () => {
    for (const state of ["ready", "ended", "failed"]) {
      const { start, interrupting, pausing, flushing } = faces(state);
      assert.deepEqual([start[1], interrupting, pausing, flushing], ["live.start", false, false, false]);
    }
  });

  test("the first button stops, and ends a session that is stopping", () => {
    assert.equal(faces("live").start[1], "live.stop");
    assert.equal(faces("ending").start[1], "live.endNow");
  });

  test("what is paused can be resumed, what was only silent needs no resume", () => {
    assert.equal(faces("paused").pause[1], "live.resume");
    assert.equal(faces("released", "pause").pausing, true);
    assert.equal(faces("released", "idle").pausing, false);
    assert.equal(faces("queued").pausing, false);
  });
});

test("a countdown is over only at the end", () => {
  assert.equal(minutes(59.2), "1:00");
  assert.equal(minutes(0.01), "0:01");
  assert.equal(minutes(-3), "0:00");
});

test("the page says everything in both languages", () => {
  assert.deepEqual(Object.keys(zh).sort(), Object.keys(en).sort());
});
