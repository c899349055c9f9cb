/** Chats of the JavaScript client, written and spoken while they come. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { afterEach, describe, test } from "node:test";
import { VoxFleet } from "../../../frontend/static/js/client/voxfleet.js";

describe("ChatStream", () => {
  let server;
  afterEach(() => server.close());

  const said = (content, more = {}) => ({ model: "m", choices: [{ delta: { content }, finish_reason: null }], ...more });
  const USAGE = { prompt_tokens: 4, completion_tokens: 2 };

  /** A service that notes bodies and sends bytes one piece at a time; @returns {VoxFleet} */
  async function service(seen, pieces) {
    server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += part;
      seen.push(JSON.parse(body));
      response.writeHead(200, { "content-type": "text/event-stream", "x-seed": "9" });
      for (const piece of pieces) {
        response.write(piece);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new VoxFleet({ url: `http://127.0.0.1:${server.address().port}` });
  }

  async function read(stream) {
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    return pieces;
  }

  test("events that are cut anywhere are put together, and the answer tells the rest", async () => {
    const events = [
      said("Grüß"),
      said(" dich"),
      { model: "m", choices: [{ delta: {}, finish_reason: "length" }] },
      { model: "m", choices: [], usage: USAGE },
    ];
    const bytes = Buffer.from(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`);
    const cut = bytes.indexOf("ü") + 1; // in the middle of a character
    const seen = [];
    const fleet = await service(seen, [bytes.subarray(0, cut), bytes.subarray(cut, cut + 9), bytes.subarray(cut + 9)]);
    const stream = fleet.streamChat("Hi.", { max_tokens: 2 });
    assert.deepEqual(await read(stream), ["Grüß", " dich"]);
    const rest = { finishReason: "length", model: "m", seed: 9, promptTokens: 4, completionTokens: 2 };
    assert.deepEqual(stream.answer, { text: "Grüß dich", ...rest });
    const options = { max_tokens: 2, stream: true, stream_options: { include_usage: true, include_queue: true } };
    assert.deepEqual(seen, [{ messages: [{ role: "user", content: "Hi." }], ...options }]);
  });

  test("a place in line and audio are told by events, and what is said is the text", async () => {
    const spoken = (audio) => ({ model: "m", choices: [{ delta: { content: null, audio }, finish_reason: null }] });
    const events = [
      { model: "m", choices: [], queue: { position: 2, eta_seconds: 1.5 } },
      spoken({ transcript: "Hello." }),
      spoken({ data: Buffer.from([1, 2, 255]).toString("base64") }),
      { model: "m", choices: [], usage: USAGE },
    ];
    const seen = [];
    const fleet = await service(seen, [`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n`]);
    const stream = fleet.streamChat("Hi.", { audio: { voice: "ruth" } });
    const told = [];
    stream.addEventListener("queued", ({ detail }) => told.push(detail));
    stream.addEventListener("audio", ({ detail }) => told.push(new Uint8Array(detail)));
    assert.deepEqual(await read(stream), ["Hello."]);
    assert.deepEqual(told, [events[0].queue, new Uint8Array([1, 2, 255])]);
    assert.equal(stream.answer.text, "Hello.");
    assert.deepEqual([seen[0].modalities, seen[0].audio], [["text", "audio"], { format: "pcm16", voice: "ruth" }]);
  });

  test("an error in a stream is thrown, and so is an end before the end", async () => {
    const error = { message: "gone", code: "no_worker", type: "capacity_error" };
    const told = `data: ${JSON.stringify({ error, retry_after_seconds: 5 })}\n\n`;
    for (const [last, code, retryAfterSeconds] of [[told, "no_worker", 5], ["", "connection_lost", null]]) {
      const fleet = await service([], [`data: ${JSON.stringify(said("a"))}\n\n`, last]);
      const stream = fleet.streamChat("Hi.");
      await assert.rejects(read(stream), { code, retryAfterSeconds });
      assert.equal(stream.answer, null);
      server.close();
    }
  });

  test("what would give more than one answer as text is no option", async () => {
    const seen = [];
    const fleet = await service(seen, []);
    assert.throws(() => fleet.streamChat("Hi.", { n: 2 }), { param: "n" });
    await assert.rejects(fleet.chat("Hi.", { modalities: ["audio"] }), { param: "modalities" });
    await assert.rejects(fleet.chat("Hi.", { audio: { voice: "ruth" } }), { param: "audio" });
    assert.deepEqual(seen, []);
  });
});
