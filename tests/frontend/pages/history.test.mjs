/** The history, links, code and reports of the studio. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { PlaybackReporter } from "../../../frontend/static/js/audio/playback-reporter.js";
import { ClipStore, beyond } from "../../../frontend/static/js/studio/history/clip-store.js";
import { SoundTurn, Tabs } from "../../../frontend/static/js/shared/hearing/tabs.js";
import { crc32 } from "../../../frontend/static/js/shared/files/zip.js";
import { titleOf } from "../../../frontend/static/js/studio/history/download.js";
import { matches } from "../../../frontend/static/js/studio/history/history-list.js";
import { Comparison } from "../../../frontend/static/js/studio/history/compare.js";
import { RecordChoice } from "../../../frontend/static/js/studio/request/record-choice.js";
import { fromFragment, toFragment } from "../../../frontend/static/js/studio/share-link.js";
import { javascriptCode, pythonCode } from "../../../frontend/static/js/studio/snippets.js";
import { Utterance } from "../../../frontend/static/js/studio/utterance.js";
import { spanSeconds } from "../../../frontend/static/js/studio/stage/waveform.js";

describe("what the history keeps", () => {
  const entries = (...sizes) => sizes.map((bytes, index) => ({ id: 100 - index, bytes }));
  const limits = { clips: 3, bytes: 10 };

  test("the newest, up to a number and a size", () => {
    assert.deepEqual(beyond(entries(1, 1, 1), limits), []);
    assert.deepEqual(beyond(entries(1, 1, 1, 1, 1), limits), [97, 96]);
    assert.deepEqual(beyond(entries(6, 5, 1), limits), [99, 98]);
  });

  test("those with a star longer than others", () => {
    const [newest, middle, starred, oldest] = entries(1, 1, 1, 1);
    starred.starred = true;
    assert.deepEqual(beyond([newest, middle, starred, oldest], { clips: 2, bytes: 10 }), [middle.id, oldest.id]);
  });

  test("what has all the words, in its name, its text or its voice", () => {
    const entry = { name: "Take two", request: { text: "The fog lifted.", voice: "v1" }, figures: { voice_name: "Ruth" } };
    for (const words of ["fog TWO", "ruth", "  "]) assert.equal(matches(entry, words), true, words);
    assert.equal(matches(entry, "fog rain"), false);
    assert.equal(titleOf(entry), "Take two");
    assert.equal(titleOf({ request: entry.request }), "The fog lifted.");
  });

  test("the sum of a file in a zip is that of its bytes", () => {
    assert.equal(crc32(new TextEncoder().encode("123456789")), 0xcbf43926);
    assert.equal(crc32(new Uint8Array(0)), 0);
  });

  test("the newest one in any case", () => assert.deepEqual(beyond(entries(50, 1), limits), [99]));

  test("a kept clip is the same audio, with the figures of its day", async () => {
    const first = new Utterance({ text: "Hi.", seed: 1 }, 0);
    first.start({ sample_rate: 8000, worker_id: "w1" }, 0);
    first.receive(Int16Array.of(1, -2, 3, 4).buffer, 0.5);
    const figures = { rtf: 0.25, worker_id: "w1", session_id: "s", first_audio_heard: 0.5 };
    const again = await Utterance.kept({ request: first.request, figures, wav: first.wav() });
    assert.deepEqual([...(await again.read(0, 9))], [1, -2, 3, 4]);
    assert.deepEqual([again.sampleRate, again.firstAudioSeconds, again.sessionId], [8000, 0.5, "s"]);
    assert.ok(Math.abs(again.realTimeFactor - 0.25) < 1e-9);
  });
});

describe("the store of clips", () => {
  /** A request that is answered soon. */
  const answered = (result, error) => {
    const request = {};
    queueMicrotask(() => {
      Object.assign(request, { result, error });
      if (error) request.onerror();
      else request.onsuccess();
    });
    return request;
  };

  test("is opened anew where it could not be opened, or was closed by the browser", async (t) => {
    const closed = new DOMException("the connection is closing", "InvalidStateError");
    const database = { lost: false, closes: 0, close: () => (database.closes += 1) };
    database.transaction = () => {
      if (database.lost) throw closed;
      return { objectStore: () => ({ getAll: () => answered([{ id: 1 }, { id: 2 }]) }) };
    };
    const openings = [[null, new DOMException("try later", "UnknownError")], [database], [{ ...database, transaction: database.transaction }]];
    globalThis.indexedDB = { open: () => answered(...openings.shift()) };
    t.after(() => delete globalThis.indexedDB);
    const store = new ClipStore();
    assert.deepEqual(await store.all(), []);
    assert.deepEqual(await store.all(), [{ id: 2 }, { id: 1 }]);
    database.lost = true;
    assert.deepEqual(await store.all(), []);
    database.lost = false;
    assert.deepEqual(await store.all(), [{ id: 2 }, { id: 1 }]);
    assert.deepEqual([openings.length, database.closes], [0, 1]);
  });
});

describe("two tabs", () => {
  /** The next news of a kind; what waits for it is awake, unlike the channel. */
  async function heard(tab, type) {
    const awake = setInterval(() => null, 1000);
    await new Promise((resolve) => tab.addEventListener(type, resolve, { once: true }));
    clearInterval(awake);
  }

  test("tell each other what has changed, and not themselves", async () => {
    const [one, other] = [new Tabs(), new Tabs()];
    one.addEventListener("clips", () => assert.fail("told itself"));
    const news = heard(other, "clips");
    one.tell("clips");
    await news;
    const answer = heard(one, "sound");
    other.tell("sound");
    await answer;
  });

  test("sound one at a time: the one that begins silences the others, once", () => {
    const told = [];
    const [mine, theirs] = [new EventTarget(), new EventTarget()];
    mine.tell = (news) => told.push(news) && theirs.dispatchEvent(new Event(news));
    const silenced = [];
    new SoundTurn(() => silenced.push("theirs"), theirs);
    const turn = new SoundTurn(() => assert.fail("silenced itself"), mine);
    for (const playing of [false, true, true, false, true]) turn.note(playing);
    assert.deepEqual(told, ["sound", "sound"]);
    assert.deepEqual(silenced, ["theirs", "theirs"]);
  });
});

test("a clip that is being made is drawn as long as it will be, and labelled so", () => {
  assert.equal(spanSeconds(8, 0, false), 8);
  assert.equal(spanSeconds(8, 3, false), 8);
  assert.equal(spanSeconds(8, 10, false), 10.2);
  assert.equal(spanSeconds(8, 3, true), 3);
});

describe("A and B", () => {
  const [one, two] = [{ id: 1 }, { id: 2 }];

  test("are two clips, and a clip is on one side only", () => {
    const comparison = new Comparison();
    comparison.choose("A", one);
    comparison.choose("B", one);
    assert.deepEqual([comparison.entry("A"), comparison.entry("B")], [null, one]);
    comparison.choose("A", two);
    assert.ok(comparison.ready);
    comparison.choose("A", two);
    assert.ok(!comparison.ready);
  });

  test("the other side is the one that is not heard; another clip on the stage is neither", () => {
    const comparison = new Comparison();
    comparison.choose("A", one);
    comparison.choose("B", two);
    assert.equal(comparison.other, "A");
    comparison.heard(1);
    assert.deepEqual([comparison.side, comparison.other], ["A", "B"]);
    comparison.heard(7);
    assert.equal(comparison.side, null);
  });

  test("a deleted clip is compared no more", () => {
    const comparison = new Comparison();
    comparison.choose("A", one);
    comparison.choose("B", two);
    comparison.keep(new Set([2]));
    assert.ok(!comparison.ready);
  });
});

describe("links", () => {
  test("carry everything there and back", () => {
    const settings = {
      text: "50 % of #1 & 好?\n+",
      voice: "v_1",
      format: "mp3",
      parameters: { seed: 7, cfg_value: 2.5, temperature: 0, instructions: "calm & slow" },
    };
    assert.deepEqual(fromFragment(toFragment(settings)), settings);
  });

  test("with a voice alone leave text and settings as they are", () => {
    assert.deepEqual(fromFragment(toFragment({ voice: "v_1" })), { voice: "v_1" });
    assert.equal(fromFragment("#voice=v_1&seed=7").text, "");
  });

  test("of others say nothing, and what is out of range is left out", () => {
    assert.equal(fromFragment(""), null);
    assert.equal(fromFragment("#text"), null, "where the skip link goes");
    assert.equal(fromFragment("#code=1"), null);
    const read = fromFragment("#text=a&seed=1.5&cfg_value=99&temperature=x&inference_timesteps=4&format=exe");
    assert.deepEqual(read, { text: "a", voice: undefined, format: undefined, parameters: { inference_timesteps: 4 } });
  });
});

describe("code", () => {
  const request = { text: `It's "late" \\ 好\n`, voice: "slt", record: true, format: "mp3" };

  test("Python reads back exactly the request", () => {
    const code = pythonCode("http://host:8006", request);
    const fields = code.slice(code.indexOf("request ="), code.indexOf("\nurl"));
    const script = `import json\n${fields}\nprint(json.dumps(request))`;
    assert.deepEqual(JSON.parse(execFileSync("python3", ["-c", script], { encoding: "utf8" })), request);
  });

  test("a key is taken from elsewhere, never written down", () => {
    assert.match(pythonCode("http://h", request, { keyed: true }), /os\.environ\['VOXFLEET_API_KEY'\]/);
    assert.doesNotMatch(pythonCode("http://h", request), /environ/);
    assert.match(javascriptCode("http://h", request, { keyed: true }), /process\.env\.VOXFLEET_API_KEY/);
  });

  test("JavaScript sends the request and keeps the answer", async (context) => {
    const folder = await mkdtemp(join(tmpdir(), "code-"));
    context.after(() => rm(folder, { recursive: true }));
    const seen = [];
    const server = createServer(async (incoming, response) => {
      let body = "";
      for await (const part of incoming) body += part;
      seen.push(JSON.parse(body));
      response.end("sound");
    });
    context.after(() => server.close());
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${server.address().port}`;
    await writeFile(join(folder, "code.mjs"), javascriptCode(origin, request));
    await promisify(execFile)("node", ["code.mjs"], { cwd: folder });
    assert.deepEqual(seen, [request]);
    assert.equal(await readFile(join(folder, "speech.mp3"), "utf8"), "sound");
  });
});

describe("reports of the playback", () => {
  function reporter() {
    const sent = [];
    let now = 100;
    const one = new PlaybackReporter((figures) => sent.push(figures), () => now);
    const note = (seconds, playedSamples, underruns = 0) => {
      now = 100 + seconds;
      one.note({ playedSamples, underruns, bufferedSamples: 800 }, 16000);
    };
    return { one, sent, note };
  }

  test("go out with the first sound, then every two seconds", () => {
    const { sent, note } = reporter();
    note(0, 0);
    note(0.1, 100);
    for (const seconds of [0.5, 1, 2, 2.2, 3]) note(seconds, 1000 * seconds);
    assert.deepEqual(sent.map(({ played_samples: played }) => played), [100, 2200]);
    assert.equal(sent[0].buffered_ms, 50);
  });

  test("what could not be told is told as soon as it can be", () => {
    let open = false;
    const sent = [];
    const one = new PlaybackReporter((figures) => open && sent.push(figures) > 0, () => 100);
    const note = (playedSamples, underruns) => one.note({ playedSamples, underruns, bufferedSamples: 0 }, 16000);
    note(100, 0);
    note(200, 1);
    open = true;
    note(300, 1);
    assert.deepEqual(sent.map(({ played_samples: played, underruns }) => [played, underruns]), [[300, 1]]);
  });

  test("an underrun is told at once, and the end once", () => {
    const { one, sent, note } = reporter();
    note(0.1, 100);
    note(0.2, 200, 1);
    note(0.3, 300, 1);
    one.flush();
    one.flush();
    assert.deepEqual(sent.map(({ underruns, played_samples: played }) => [underruns, played]), [[0, 100], [1, 200], [1, 300]]);
  });
});

describe("recording", () => {
  function choice(mode, checked = false) {
    const box = Object.assign(new EventTarget(), { checked, disabled: false });
    const field = { hidden: true };
    const record = new RecordChoice(field, box);
    record.offer({ record_sessions: mode });
    return { field, box, record };
  }

  test("is offered where the gateway asks, and said only when it is chosen", () => {
    assert.deepEqual(choice("ask").record.fields, {});
    assert.deepEqual(choice("ask", true).record.fields, { record: true });
    assert.ok(choice("off", true).field.hidden);
    assert.deepEqual(choice("off", true).record.fields, {});
  });

  test("cannot be refused where everything is recorded", () => {
    const { box, record } = choice("all");
    assert.deepEqual([box.checked, box.disabled], [true, true]);
    assert.deepEqual(record.fields, {});
  });
});
