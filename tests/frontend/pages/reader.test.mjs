/** The reader of a book: it goes from block to block, and waits for what is being made. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { draft } from "../../../frontend/static/js/book/manuscript/blocks.js";
import { Reader } from "../../../frontend/static/js/book/reading/reader.js";

/** An audio element that plays nothing; `ends` is the end of a clip as a browser tells it. */
class SilentAudio extends EventTarget {
  paused = true;
  ended = false;
  defaultPlaybackRate = 1;
  playbackRate = 1;

  async play() {
    this.paused = this.ended = false;
    this.dispatchEvent(new Event("play"));
  }

  pause() {
    if (this.paused) return;
    this.paused = true;
    queueMicrotask(() => this.dispatchEvent(new Event("pause")));
  }

  ends() {
    this.paused = this.ended = true;
    for (const type of ["pause", "ended"]) this.dispatchEvent(new Event(type));
  }
}

/** A book of these takes: "ready", "making" or "none" by block. */
function bookOf(...states) {
  const book = new EventTarget();
  book.id = "b_1";
  book.blocks = states.map((_, place) => ({ ...draft({ id: `p${place}`, text: `Part ${place}.`, pause_ms: 0 }), key: `k${place}` }));
  book.make = (place, state) => {
    const takes = state === "none" ? [] : [{ id: `t${place}`, state }];
    book.kept.set(`p${place}`, { ...book.blocks[place], takes, take: state === "ready" ? `t${place}` : null });
    book.dispatchEvent(new Event("kept"));
  };
  book.kept = new Map();
  states.forEach((state, place) => book.make(place, state));
  return book;
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

function readerOf(...states) {
  const book = bookOf(...states);
  const audio = new SilentAudio();
  const reader = new Reader(book, { takeAudio: async () => new Blob(["audio"]) }, audio);
  const moves = [];
  reader.addEventListener("move", ({ detail }) => moves.push(detail));
  return { book, audio, reader, moves };
}

describe("the reader of a book", () => {
  test("goes on from block to block, and says all the while that it plays", async () => {
    const { audio, reader, moves } = readerOf("ready", "none", "ready");
    await reader.play("k0");
    audio.ends();
    await settled();
    assert.equal(reader.key, "k2");
    assert.deepEqual([...new Set(moves.map(({ playing }) => playing))], [true]);
    audio.ends();
    assert.equal(reader.playing, false);
  });

  test("waits for a block that is being made instead of leaving it out", async () => {
    const { book, audio, reader } = readerOf("ready", "making", "ready");
    await reader.play("k0");
    audio.ends();
    await settled();
    assert.deepEqual([reader.key, reader.clip, reader.playing], ["k1", null, true]);
    book.make(1, "ready");
    await settled();
    assert.deepEqual([reader.clip.take, audio.paused], ["t1", false]);
  });

  test("goes past a block that failed while it was waited for", async () => {
    const { book, reader } = readerOf("making", "ready");
    await reader.play("k0");
    book.make(0, "failed");
    await settled();
    assert.deepEqual([reader.key, reader.playing], ["k1", true]);
  });

  test("plays nothing that comes after it was paused, until it goes on", async () => {
    const { book, audio, reader } = readerOf("making");
    await reader.play("k0");
    reader.pause();
    book.make(0, "ready");
    await settled();
    assert.deepEqual([audio.paused, reader.playing], [true, false]);
    reader.resume();
    await settled();
    assert.deepEqual([audio.paused, reader.playing], [false, true]);
  });

  test("follows the keys of a browser that pause and go on", async () => {
    const { audio, reader } = readerOf("ready");
    await reader.play("k0");
    audio.pause();
    await settled();
    assert.equal(reader.playing, false);
    await audio.play();
    assert.equal(reader.playing, true);
  });

  test("tells whether there is something to hear from a block on", () => {
    const { reader } = readerOf("none", "making", "none");
    assert.deepEqual(["k0", "k1", "k2"].map((key) => reader.reaches(key)), [true, true, false]);
  });
});
