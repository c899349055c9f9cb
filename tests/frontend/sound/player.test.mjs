// What a player leaves behind of the clips before: with the real playout behind it, and a browser's audio thread made up.
import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { PlayoutPort } from "../../../frontend/static/js/audio/playout-port.js";
import { Player } from "../../../frontend/static/js/audio/player.js";

const RATE = 24_000;
const BLOCK = 128;

class Context {
  sampleRate = RATE;
  audioWorklet = { addModule: async () => null };
  async resume() {}
}

let nodes;

class Node {
  connected = false;
  port = {
    open: true,
    close: () => (this.port.open = false),
    postMessage: (message) => this.playout.receive(message),
  };
  playout = new PlayoutPort({ sampleRate: RATE }, (data) => this.port.onmessage({ data }));

  constructor() {
    nodes.push(this);
  }

  connect() {
    this.connected = true;
  }

  disconnect() {
    this.connected = false;
  }

  /** As much as the audio thread does in a tenth of a second. */
  sound() {
    for (let block = 0; block < RATE / 10 / BLOCK; block += 1) this.playout.fill(new Float32Array(BLOCK));
  }
}

beforeEach(() => {
  nodes = [];
  Object.assign(globalThis, { AudioContext: Context, AudioWorkletNode: Node });
});

afterEach(() => {
  for (const name of ["AudioContext", "AudioWorkletNode"]) delete globalThis[name];
});

test("a clip that is followed by another fades out, and then lets go of what the browser would keep for it", async () => {
  const player = new Player();
  await player.begin(RATE, 0);
  player.push(new Int16Array(RATE).fill(9));
  nodes[0].sound();
  assert.deepEqual([nodes[0].connected, nodes[0].port.open], [true, true]);
  await player.begin(RATE, 0);
  assert.ok(nodes[0].connected, "it fades");
  for (const node of nodes) node.sound();
  assert.deepEqual(nodes.map((node) => node.connected), [false, true]);
  assert.deepEqual(nodes.map((node) => node.port.open), [false, true]);
});
