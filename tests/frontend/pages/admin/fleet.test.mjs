/** How the admin page describes requests, workers, voices and storage. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { etaFields } from "../../../../frontend/static/js/admin/sections/eta-section.js";
import { mixedGatewaysText, mixedText, otherBuild } from "../../../../frontend/static/js/admin/fleet/builds.js";
import { isOnlyServing } from "../../../../frontend/static/js/admin/fleet/serving.js";
import { Choice } from "../../../../frontend/static/js/admin/fleet/choice.js";
import { requestFacts, requestName } from "../../../../frontend/static/js/admin/fleet/request-row.js";
import { storageFigures } from "../../../../frontend/static/js/admin/sections/storage-section.js";
import { totals } from "../../../../frontend/static/js/admin/fleet/summary.js";
import { rememberVoices } from "../../../../frontend/static/js/voices/voice-names.js";
import { voiceFacts } from "../../../../frontend/static/js/admin/sections/voices-section.js";
import { cacheText, movedText, remark, slotUses } from "../../../../frontend/static/js/admin/fleet/worker-card.js";

describe("several requests at once", () => {
  const request = (ticket_id, tenant, protocol, voice = "Hazel") => ({ ticket_id, tenant, protocol, voice });
  const requests = [request("a", "key:shop", "openai"), request("b", "10.0.0.7", "openai"), request("c", "key:shop", "jobs"), { request_id: "r" }];

  test("are chosen by a kind that some of them have, or all", () => {
    const choice = new Choice();
    choice.list(requests);
    assert.deepEqual(choice.kinds.map(({ kind, value, count }) => `${kind} ${value} ${count}`), ["all  3", "tenant key:shop 2", "protocol openai 2"]);
    choice.add("tenant", "key:shop");
    assert.deepEqual(choice.tickets, ["a", "c"]);
    choice.add("all");
    assert.equal(choice.size, 3);
  });

  test("are no longer chosen when they have left", () => {
    const choice = new Choice();
    choice.list(requests);
    choice.add("all");
    choice.list(requests.slice(1));
    assert.deepEqual(choice.tickets, ["b", "c"]);
    choice.set("b", false);
    assert.ok(!choice.has("b") && choice.has("c"));
  });

  test("need no kinds where there is one", () => {
    const choice = new Choice();
    choice.list(requests.slice(0, 1));
    assert.deepEqual(choice.kinds, []);
  });
});

test("a request is called by its voice and how much it says", () => {
  assert.equal(requestName({ voice: "Hazel", characters: 1800, request_id: "r" }), "Hazel · 1,800 characters");
  assert.equal(requestName({ voice: "Hazel", characters: null, request_id: "r" }), "Hazel");
  assert.equal(requestName({ request_id: "r", ticket_id: "q" }), "r");
  rememberVoices([{ id: "v_1", name: "Hazel", kind: "custom" }, { id: "ruth", name: "ruth", kind: "built-in" }]);
  assert.deepEqual([requestName({ voice: "v_1" }), requestName({ voice: "ruth" })], ["Hazel", "Ruth"]);
  const known = { protocol: "openai", client: "curl 8.5.0", tenant: "key:shop", worker_id: "w0" };
  assert.equal(requestFacts(known), "OpenAI · curl 8.5.0 · of shop · on w0");
  assert.equal(requestFacts({ protocol: "of tomorrow" }), "of tomorrow");
});

test("of a drained worker the slots in use count, so that never more are used than there are", () => {
  const busy = { slots_total: 4, slots_used: 4 };
  const { slotsUsed, slotsTotal } = totals([{ state: "DRAINING", ...busy }, { state: "BUSY", ...busy }]);
  assert.deepEqual([slotsUsed, slotsTotal], [8, 8]);
});

test("the only worker that serves is one that nobody stands in for", () => {
  const workers = [{ id: "a", state: "IDLE" }, { id: "b", state: "DRAINING" }, { id: "c", state: "DOWN" }];
  assert.ok(isOnlyServing("a", workers));
  assert.ok(!isOnlyServing("a", [...workers, { id: "d", state: "BUSY" }]));
});

test("of several builds in one fleet there is a note, and of a worker its own", () => {
  const [own, other] = ["0.1.0+0123456789ab", "0.1.0+fedcba987654"];
  const fleet = [{ state: "IDLE", build: own }, { state: "BUSY", build: other }, { state: "LOADING", build: other }];
  assert.equal(mixedText(own, fleet), `Several builds run. This gateway: ${own}; workers: ${own} (1) · ${other} (2).`);
  assert.deepEqual(fleet.map((worker) => otherBuild(own, worker)), ["", `Build: ${other}`, `Build: ${other}`]);
  assert.equal(mixedText(own, [{ state: "IDLE" }]), `Several builds run. This gateway: ${own}; workers: one that does not say (1).`);
});

test("of gateways of several builds there is a note", () => {
  const gateways = [{ build: "0.1.0+0123456789ab", gateways: 2 }, { build: "", gateways: 1 }];
  const told = "Gateways of several builds share the database: 0.1.0+0123456789ab (2) · one that does not say (1).";
  assert.equal(mixedGatewaysText(gateways), told);
  for (const few of [gateways.slice(1), [], undefined]) assert.equal(mixedGatewaysText(few), null);
});

test("where one build runs, or a gateway of old says nothing of builds, no build is mentioned", () => {
  const own = "0.1.0+0123456789ab";
  const gone = { state: "DOWN", build: "0.0.9" };
  for (const [build, workers] of [[own, [{ state: "IDLE", build: own }, gone]], [undefined, [{ state: "IDLE" }]], [own, []]]) {
    assert.equal(mixedText(build, workers), null);
    assert.ok(workers.every((worker) => otherBuild(build, worker) === ""));
  }
});

test("totals count the slots of workers that serve, and the slowest worker's first audio", () => {
  const worker = (state, used, audio, more) => ({ state, slots_total: 4, slots_used: used, counters: { audio_seconds: audio, errors: 1 }, ...more });
  const fleet = [
    worker("BUSY", 3, 10, { first_audio_p95_seconds: 0.2, errors: 2, live_active: 1, live_paused: 2, migrations: 5 }),
    worker("IDLE", 0, 5, { first_audio_p95_seconds: null }),
    worker("DRAINING", 1, 0, { first_audio_p95_seconds: 0.4 }),
    { state: "DOWN", slots_total: 0, slots_used: 0 },
  ];
  assert.deepEqual(totals(fleet), {
    workers: 4, serving: 2, slotsTotal: 9, slotsUsed: 4, live: 3, firstAudioSeconds: 0.4, audioSeconds: 15, errors: 4, migrations: 5,
  });
  assert.equal(totals([]).firstAudioSeconds, null);
});

test("a worker that needs attention says why", () => {
  assert.equal(remark({ state: "IDLE" }), null);
  assert.equal(remark({ state: "LOADING", loading: { stage: "weights", progress: 0.42 } }), "Loading weights, 42 %");
  assert.equal(remark({ state: "ERROR", error: "out of memory" }), "out of memory");
  assert.equal(remark({ state: "DOWN", last_failure: "connection refused" }), "connection refused");
  assert.equal(remark({ state: "DOWN", restarting: true, last_failure: "it left" }), "Ending, to be started again.");
});

test("a request is described by what is known of it", () => {
  assert.equal(requestFacts({ waited_seconds: 3, eta_seconds: 4.2 }), "waited 3 s · starts in 5 s");
  assert.equal(requestFacts({ waited_seconds: 3, eta_seconds: null }), "waited 3 s · start unknown");
  assert.equal(requestFacts({ tenant: "key:shop", priority: "bulk", waited_seconds: 3 }), "of shop · bulk · waited 3 s");
  assert.equal(requestFacts({ tenant: "10.0.0.7", priority: "default", waited_seconds: 3 }), "of 10.0.0.7 · waited 3 s");
  assert.equal(requestFacts({ mode: "DUPLEX_PAUSED", worker_id: "w0" }), "live, paused · on w0");
  assert.equal(requestFacts({ worker_id: "w0", running_seconds: 65.2, attempt: 2 }), "on w0 · for 1 min 5 s · attempt 2");
});

test("live sessions of a worker are counted by what they do", () => {
  assert.equal(slotUses({}), "");
  assert.equal(slotUses({ live_active: 2, live_paused: 0 }), "2 live");
  assert.equal(slotUses({ live_active: 0, live_paused: 1 }), "0 live, 1 paused");
  assert.equal(slotUses({ slots_of_others: 3 }), "3 of other gateways");
  assert.equal(slotUses({ live_active: 1, slots_of_others: 2 }), "1 live · 2 of other gateways");
});

test("the cache of a worker is told by where positions were, and by what moved", () => {
  const counters = { kv_device_positions: 60, kv_host_positions: 15, kv_computed_positions: 25 };
  assert.equal(cacheText(counters), "60 % · 15 %");
  assert.equal(cacheText({ kv_device_positions: 0, kv_host_positions: 0, kv_computed_positions: 0 }), "–");
  assert.equal(cacheText({}), "–");
  assert.equal(movedText({ kv_stored_bytes: 3 << 20, kv_brought_bytes: 512 }), "3.0 MiB · 512 B");
  assert.equal(movedText({ kv_stored_bytes: 0, kv_brought_bytes: 0 }), "–");
});

test("settings are the numbers of an answer, with their limits where there are some", () => {
  const answer = { prior_seconds: 5, alpha: 0.3, note: "x", limits: { alpha: [0.01, 1] } };
  assert.deepEqual(etaFields(answer), [["prior_seconds", 5, null], ["alpha", 0.3, [0.01, 1]]]);
});

test("a voice is described by what an operator asks of it", () => {
  assert.equal(voiceFacts({ kind: "built-in" }), "built-in");
  const custom = { kind: "custom", language: "en", audio_seconds: 4.25, has_transcript: true, tags: ["calm"], usable: false };
  assert.equal(voiceFacts(custom), "custom · en · 4.3 s · with transcript · calm · needs consent");
  assert.equal(voiceFacts({ kind: "custom", usable: false, lacks: "adapter" }), "custom · its adapter is gone");
});

test("storage without limits has none to show", () => {
  const none = { voices: null, free: null, limit: null, ownerLimit: null, floor: null, days: null };
  assert.deepEqual(storageFigures({ count: 3, bytes: 10 }), { count: 3, used: 10, ...none });
});

test("storage tells all limits, and what voices and others take", () => {
  const limits = { max_storage_gb: 20, max_owner_gb: 5, min_free_disk_gb: 1, retention_days: 90 };
  const figures = storageFigures({ count: 0, bytes: 0, voices_bytes: 7, free_bytes: 8, limits });
  const expected = { voices: 7, free: 8, limit: 20e9, ownerLimit: 5e9, floor: 1e9, days: 90 };
  assert.deepEqual(figures, { count: 0, used: 0, ...expected });
});
