/** The page of the API: what it makes of a description, and the code that it shows. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { codeOf, pythonValue } from "../../../frontend/static/js/docs/code.js";
import { fieldsOf, finds, groupsOf, kindOf, requestOf } from "../../../frontend/static/js/docs/description.js";

const DOCUMENT = {
  tags: [{ name: "Jobs", description: "Long texts." }],
  paths: {
    "/api/jobs/{id}": {
      post: {
        operationId: "post_api_jobs_id",
        tags: ["Jobs"],
        summary: "Change a job",
        security: [{ apiKey: [] }, {}],
        parameters: [
          { name: "id", in: "path", example: "j/1" },
          { name: "form", in: "query", example: "a b" },
          { name: "other", in: "query" },
        ],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Change" }, example: { title: "It's" } } } },
        responses: {
          200: { content: { "audio/mpeg": {} } },
          default: { content: { "application/json": { example: { error: {} } } } },
        },
      },
    },
    "/ws/jobs": {
      get: {
        operationId: "websocket_ws_jobs",
        tags: ["Jobs"],
        summary: "Watch jobs",
        security: [{ adminToken: [] }],
        parameters: [],
        responses: { 101: {} },
        "x-websocket": { sends: [{ type: "start" }], gets: [{ type: "done" }] },
      },
    },
  },
};
const [{ operations: [change, watch] }] = groupsOf(DOCUMENT);

describe("a description", () => {
  test("is groups of operations", () => {
    assert.deepEqual([change.method, change.access, change.answer.status, change.answer.type], ["POST", "optional", "200", "audio/mpeg"]);
    assert.deepEqual([watch.method, watch.access, watch.answer], ["SOCKET", "adminToken", null]);
  });

  test("has requests of its examples", () => {
    assert.deepEqual(requestOf(change), { method: "POST", path: "/api/jobs/j%2F1?form=a+b", headers: {}, json: { title: "It's" } });
    assert.deepEqual(requestOf(watch).messages, [{ type: "start" }]);
  });

  test("is searched by all words, anywhere", () => {
    assert.ok(finds("", change, "Jobs") && finds("JOB post", change, "Jobs") && finds("change jobs", change, "Jobs"));
    assert.ok(!finds("change delete", change, "Jobs"));
  });

  test("tells the fields of a body, required ones first", () => {
    const schemas = { Change: { required: ["title"], properties: { seed: { type: "integer", minimum: 0, default: 7 }, title: { $ref: "#/x/Title" } } }, Title: { type: "string", maxLength: 9 } };
    const fields = fieldsOf({ $ref: "#/components/schemas/Change" }, schemas);
    assert.deepEqual(fields.map(({ name, kind, required, value }) => [name, kind, required, value]), [
      ["title", "string ≤ 9", true, undefined],
      ["seed", "integer 0…", false, 7],
    ]);
  });

  test("names kinds of values", () => {
    assert.equal(kindOf({ anyOf: [{ enum: ["a", "b"] }, { type: "null" }] }, {}), "a | b | null");
    assert.equal(kindOf({ type: "array", items: { type: "object" } }, {}), "object[]");
    assert.equal(kindOf({ type: "string", format: "binary" }, {}), "file");
    assert.equal(kindOf({ type: "integer", minimum: 0, maximum: 2 ** 63 }, {}), "integer 0…");
  });
});

describe("code", () => {
  const where = { origin: "http://localhost:8006" };

  test("names a key where one is needed, or the reader has one", () => {
    const code = (keyed) => codeOf(change, requestOf(change), { ...where, keyed });
    assert.ok(!code(false).curl.includes("authorization"));
    for (const text of Object.values(code(true))) assert.match(text, /VOXFLEET_API_KEY/);
    for (const text of Object.values(codeOf(watch, requestOf(watch), where))) assert.match(text, /VOXFLEET_ADMIN_TOKEN/);
  });

  test("of a socket speaks MessagePack where its messages are that", () => {
    const packed = { ...watch, socket: { ...watch.socket, packed: true } };
    const of = (operation) => codeOf(operation, requestOf(operation), where);
    assert.match(of(packed).Python, /import msgpack[^]*msgpack\.packb\(message\)[^]*msgpack\.unpackb\(message\)/);
    assert.match(of(packed).JavaScript, /@msgpack\/msgpack[^]*encode\(\{"type":"start"\}\)[^]*decode\(data\)/);
    for (const text of Object.values(of(watch))) assert.doesNotMatch(text, /msgpack/);
  });

  test("quotes what a shell would understand otherwise", () => {
    const { curl } = codeOf(change, requestOf(change), where);
    assert.equal(
      curl,
      ["curl --fail-with-body 'http://localhost:8006/api/jobs/j%2F1?form=a+b'", "  -H 'content-type: application/json'", `  -d '{"title":"It'\\''s"}'`, "  --output answer.mp3"].join(" \\\n"),
    );
  });

  test("writes JSON as Python does", () => {
    assert.equal(pythonValue({ a: [true, null, {}], b: "x" }), '{\n    "a": [\n        True,\n        None,\n        {},\n    ],\n    "b": "x",\n}');
  });

  test("of clients stands in docs/clients.md too", async () => {
    const { CLIENTS } = await import("../../../frontend/static/js/docs/clients.js");
    const plain = (text) => text.replace(/\s+/g, "").replaceAll(",)", ")");
    const manual = plain(readFileSync(new URL("../../../docs/clients.md", import.meta.url), "utf8"));
    for (const { id, code } of CLIENTS) {
      for (const [name, text] of Object.entries(code(where.origin))) {
        const told = plain(text.split("\n\n").at(-1).replace(/^tts = /, ""));
        assert.ok(manual.includes(told), `${id}, ${name}: ${told}`);
      }
    }
  });
});
