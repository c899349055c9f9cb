/** The microphone: whoever closes it while it is being opened has it closed. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { Recorder } from "../../../frontend/static/js/audio/recorder.js";

/** What a browser has of microphones, granted and loaded by hand. */
class Browser {
  tracks = [];
  contexts = [];
  #asked = [];
  #loading = [];

  install() {
    const browser = this;
    globalThis.window = new EventTarget();
    const getUserMedia = () => new Promise((resolve, reject) => browser.#asked.push({ resolve, reject }));
    Object.defineProperty(globalThis, "navigator", { value: { mediaDevices: { getUserMedia } }, configurable: true });
    globalThis.AudioContext = class {
      state = "running";
      sampleRate = 48000;
      audioWorklet = { addModule: () => new Promise((resolve, reject) => browser.#loading.push({ resolve, reject })) };

      constructor() {
        browser.contexts.push(this);
      }

      createMediaStreamSource() {
        return { connect() {} };
      }

      close() {
        this.state = "closed";
      }
    };
    globalThis.AudioWorkletNode = class {
      port = {};
    };
  }

  /** The reader allows the microphone, once for each time that it was asked for. */
  async grant() {
    for (const { resolve } of this.#asked.splice(0)) {
      const track = { live: true, stop: () => (track.live = false) };
      this.tracks.push(track);
      resolve({ getTracks: () => [track] });
    }
    await new Promise(setImmediate);
  }

  async load() {
    for (const { resolve } of this.#loading.splice(0)) resolve();
    await new Promise(setImmediate);
  }

  get open() {
    return [this.tracks.filter(({ live }) => live).length, this.contexts.filter(({ state }) => state === "running").length];
  }
}

describe("a microphone", () => {
  const kept = Object.getOwnPropertyDescriptor(globalThis, "navigator");
  let browser;
  let recorder;
  /** Opens it; what became of that. */
  const opened = () => recorder.open().then(() => "open", ({ name }) => name);

  beforeEach(() => {
    browser = new Browser();
    browser.install();
    recorder = new Recorder();
  });
  afterEach(() => {
    for (const name of ["window", "AudioContext", "AudioWorkletNode"]) delete globalThis[name];
    if (kept) Object.defineProperty(globalThis, "navigator", kept);
    else delete globalThis.navigator;
  });

  test("that is closed while the reader is asked is let go when it is granted", async () => {
    const first = opened();
    recorder.close();
    await browser.grant();
    assert.equal(await first, "AbortError");
    assert.deepEqual(browser.open, [0, 0]);
  });

  test("that is opened anew meanwhile is open once, and closes", async () => {
    const first = opened();
    recorder.close();
    const second = opened();
    await browser.grant();
    await browser.load();
    assert.deepEqual([await first, await second], ["AbortError", "open"]);
    assert.deepEqual(browser.open, [1, 1]);
    recorder.close();
    assert.deepEqual(browser.open, [0, 0]);
  });

  test("that is closed while its worklet loads is let go at once", async () => {
    const first = opened();
    await browser.grant();
    recorder.close();
    assert.deepEqual(browser.open, [0, 0]);
    await browser.load();
    assert.equal(await first, "AbortError");
    assert.deepEqual(browser.open, [0, 0]);
  });
});
