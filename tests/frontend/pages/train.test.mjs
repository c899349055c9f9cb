/** Training a voice: files are paired with their words, and a training is told in words. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { lengthOf } from "../../../frontend/static/js/train/length.js";
import { pointsOf } from "../../../frontend/static/js/train/loss-curve.js";
import { recordingsOf } from "../../../frontend/static/js/train/pairing.js";
import { SENTENCES } from "../../../frontend/static/js/train/sentences.js";
import { factsOf, findingText, isOpen } from "../../../frontend/static/js/train/training-card.js";
import { Sending } from "../../../frontend/static/js/train/sending.js";
import { fleet } from "../../../frontend/static/js/shared/service/fleet.js";

const file = (name, text = "", type = "") => new File([text], name, { type });
/** A file that was moved after it was chosen, as browsers tell it. */
function moved(name) {
  const gone = file(name);
  const refuse = () => Promise.reject(new DOMException("A requested file could not be found", "NotFoundError"));
  return Object.assign(gone, { text: refuse, arrayBuffer: refuse, slice: () => ({ arrayBuffer: refuse }) });
}
const pairs = async (...files) => (await recordingsOf(files)).recordings.map(({ name, transcript }) => [name, transcript]);

describe("files", () => {
  test("a transcript is the text file of the same name", async () => {
    const found = await pairs(file("10.wav"), file("2.wav"), file("2.txt", "\uFEFFDoors open\n at nine.\n"), file("other.txt", "x"));
    assert.deepEqual(found, [["2.wav", "Doors open at nine."], ["10.wav", ""]]);
  });

  test("or a line of LJSpeech's table, whose last column is what is spoken", async () => {
    const table = file("metadata.csv", "LJ001-0001|Chap. 1|Chapter one.\r\nLJ001-0002|Two.\nno columns\n");
    const found = await pairs(file("LJ001-0001.flac"), file("LJ001-0002.flac"), table);
    assert.deepEqual(found, [["LJ001-0001.flac", "Chapter one."], ["LJ001-0002.flac", "Two."]]);
  });

  test("or a line of VoxCPM's manifest, and what is no line of it says nothing", async () => {
    const lines = file("train.jsonl", '{"audio": "clips/a.wav", "text": "One."}\n{"audio": 1}\nnull\nnot json\n');
    assert.deepEqual(await pairs(file("a.wav"), file("b", "", "audio/x-odd"), lines), [["a.wav", "One."], ["b", ""]]);
  });

  test("words are read in the encoding that they are written in", async () => {
    const [western, chinese] = [[0x47, 0x72, 0xfc, 0xdf, 0x65, 0x2e], [0xcc, 0xec, 0xc6, 0xf8, 0xa1, 0xa3]];
    const wide = (text, order) => [0xfeff, ...Array.from(text, (letter) => letter.charCodeAt(0))].flatMap((code) => (order === "le" ? [code & 255, code >> 8] : [code >> 8, code & 255]));
    for (const [bytes, said] of [[western, "Grüße."], [chinese, "天气。"], [wide("Čas.", "le"), "Čas."], [wide("Čas.", "be"), "Čas."]]) {
      const words = new File([Uint8Array.from(bytes)], "a.txt");
      assert.deepEqual(await pairs(file("a.wav"), words), [["a.wav", said]]);
    }
  });

  test("what is neither a recording nor words is left aside", async () => {
    assert.deepEqual(await pairs(file("holiday.jpg", "", "image/jpeg"), file("a.zip")), []);
  });

  test("what cannot be read is named, and the rest is taken", async () => {
    const { recordings, unreadable } = await recordingsOf([file("1.wav"), moved("1.txt"), moved("2.wav"), moved("folder")]);
    assert.deepEqual([recordings.map(({ name }) => name), unreadable], [["1.wav"], ["1.txt", "2.wav", "folder"]]);
  });
});

describe("a training", () => {
  const progress = { stage: "training", step: 40, seconds_left: 90, seconds_per_step: 1.68, cpu_share: 0.93, losses: [[0, 2.113], [40, 1.4]], first_loss: 2.113, best_loss: 1.4 };
  const running = { state: "running", steps: 600, recordings: 73, audio_seconds: 415, progress, error: null };

  test("is told by how far it is", () => {
    assert.equal(factsOf(running), "73 recordings, 6 min 55 s · learning · step 40 of 600 · 1.7 s a step · at most 1 min 30 s left at this pace · loss 2.11 → 1.40");
    const slow = { ...running, progress: { ...progress, seconds_per_step: 40, cpu_share: 0.1 } };
    assert.match(factsOf(slow), /40\.0 s a step · slow, since other work on the computer goes first · at most/);
    const starved = { ...running, progress: { stage: "preparing", share: 0.25, cpu_share: 0.1, losses: [] } };
    assert.match(factsOf(starved), / · listening to the recordings · slow, since other work on the computer goes first$/);
    const last = { ...slow, progress: { ...slow.progress, step: 600, losses: [[0, 2.1]] } };
    assert.match(factsOf(last), / · learning · step 600 of 600$/, "what is left is no step");
    const failed = { ...running, state: "failed", recordings: 1, progress: null };
    assert.equal(factsOf(failed), "1 recording, 6 min 55 s");
    assert.deepEqual(["queued", "running", "complete", "failed", "cancelled"].map((state) => isOpen({ state })), [true, true, false, false, false]);
  });

  test("says which recordings a finding is about, by their names", () => {
    const names = new Map([["r_1", "a.wav"], ["r_2", "b.wav"], ["r_3", "c.wav"], ["r_4", "d.wav"]]);
    const finding = { kind: "silent", message: "in English", recordings: ["r_1", "r_2", "r_3", "r_4"] };
    assert.equal(findingText(finding, names), "4 left out: nothing is heard (a.wav, b.wav, c.wav …)");
    assert.equal(findingText({ kind: "of_tomorrow", message: "as the server says it", recordings: [] }, names), "as the server says it");
  });

  test("draws its losses from the left to the right, the best below", () => {
    assert.equal(pointsOf([[0, 2], [50, 1.5], [100, 1]], 200), "3.0,3.0 61.5,24.0 120.0,45.0");
    assert.equal(pointsOf([[0, 1]], 0), "3.0,3.0");
  });

  test("has sentences of its own in both languages, which make the three minutes that it advises", () => {
    const aMinute = { en: [/\S+/g, 180], zh: [/\p{Script=Han}/gu, 270] };
    for (const [language, sentences] of Object.entries(SENTENCES)) {
      const [unit, spoken] = aMinute[language];
      assert.ok(sentences.join(" ").match(unit).length / spoken > 3);
      assert.equal(new Set(sentences).size, sentences.length);
    }
  });
});

describe("the length of a recording", () => {
  /** Players that load what the test has them load. */
  function stage(t) {
    const players = [];
    const before = globalThis.Audio;
    globalThis.Audio = class extends EventTarget {
      loads = 0;
      constructor() {
        super();
        players.push(this);
      }
      removeAttribute(name) {
        delete this[name];
      }
      load() {
        this.loads += 1;
      }
    };
    t.after(() => (globalThis.Audio = before));
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const revoked = t.mock.method(URL, "revokeObjectURL");
    const released = ([player]) => !("src" in player) && player.loads === 1 && revoked.mock.callCount() === 1;
    return { players, released, seconds: lengthOf(file("a.wav")) };
  }

  for (const [what, duration, expected] of [["is told", 2.5, 2.5], ["without an end is none", Infinity, null]])
    test(what, async (t) => {
      const { players, released, seconds } = stage(t);
      assert.match(players[0].src, /^blob:/);
      players[0].duration = duration;
      players[0].dispatchEvent(new Event("loadedmetadata"));
      assert.equal(await seconds, expected);
      assert.ok(released(players));
    });

  test("is unknown of what cannot be played", async (t) => {
    const { players, released, seconds } = stage(t);
    players[0].dispatchEvent(new Event("error"));
    assert.equal(await seconds, null);
    assert.ok(released(players));
  });

  test("is unknown where a browser loads nothing, and keeps no player waiting", async (t) => {
    const { players, released, seconds } = stage(t);
    t.mock.timers.tick(60_000);
    assert.equal(await seconds, null);
    assert.ok(released(players));
  });
});

describe("sending", () => {
  /** Entries and a service that keep what they are told. */
  function stage(t, refuse = () => null) {
    const entries = new EventTarget();
    const asked = [];
    const said = [];
    let count = 0;
    const list = [{ id: "1", transcript: "One.", sent: null }, { id: "2", transcript: "Two.", sent: null }];
    Object.assign(entries, { add: (entry) => list.push(entry), holds: () => true, say: (entry, error) => said.push([entry.id, error?.code ?? null]) });
    Object.defineProperty(entries, "all", { get: () => [...list] });
    const note = (name, answer) => t.mock.method(fleet.trainings, name, async (...given) => {
      asked.push(name);
      return answer(...given);
    });
    note("create", () => ({ id: "t_1" }));
    note("start", (id) => ({ id }));
    note("delete", () => {});
    note("deleteRecording", () => {});
    note("addRecording", (id, audio, entry) => {
      const error = refuse(entry);
      if (error) throw error;
      return { id: `r_${(count += 1)}` };
    });
    return { entries, asked, said, sending: new Sending(entries) };
  }
  const refusal = (status, code) => Object.assign(new Error(code), { status, code });

  test("what was refused keeps the training from starting, and what was taken is not sent twice", async (t) => {
    let bad = true;
    const { entries, asked, said, sending } = stage(t, ({ id }) => (bad && id === "2" ? refusal(422, "audio_silent") : null));
    assert.equal(sending.begun, null);
    assert.deepEqual(await sending.send({ name: "Anna" }, () => {}), { training: null, refused: 1 });
    assert.deepEqual(said, [["1", null], ["2", "audio_silent"]]);
    assert.equal(sending.begun, "t_1");
    bad = false;
    assert.equal((await sending.send({ name: "Anna" }, () => {})).training.id, "t_1");
    assert.equal(sending.begun, null);
    assert.deepEqual(asked, ["create", "addRecording", "addRecording", "addRecording", "start"]);
    assert.deepEqual(entries.all.map(({ sent }) => sent), ["r_1", "r_2"]);
  });

  test("one that cannot be read any more keeps the others from nothing", async (t) => {
    const { said, sending } = stage(t, ({ id }) => (id === "1" ? refusal(0, "file_unreadable") : null));
    assert.deepEqual(await sending.send({ name: "Anna" }, () => {}), { training: null, refused: 1 });
    assert.deepEqual(said, [["1", "file_unreadable"], ["2", null]]);
  });

  test("for another voice all is sent anew", async (t) => {
    const { asked, sending } = stage(t, ({ id }) => (id === "2" ? refusal(422, "audio_silent") : null));
    await sending.send({ name: "Anna" }, () => {});
    await sending.send({ name: "Ben" }, () => {});
    assert.deepEqual(asked, ["create", "addRecording", "addRecording", "delete", "create", "addRecording", "addRecording"]);
  });

  test("more recordings go to the training that is there", async (t) => {
    const { asked, sending } = stage(t, () => {
      assert.equal(sending.begun, null, "it was there before");
      return null;
    });
    assert.equal((await sending.send({ id: "t_9" }, () => {})).training.id, "t_9");
    assert.deepEqual(asked, ["addRecording", "addRecording", "start"]);
  });

  const heard = (entries) => entries.all.map(({ transcript, sent }) => [transcript, Boolean(sent)]);

  test("recordings that come while others are sent go with them", async (t) => {
    const { entries, asked, sending } = stage(t, ({ id }) => {
      if (id === "1") entries.add({ id: "3", transcript: "Three.", sent: null });
      return null;
    });
    const told = [];
    assert.equal((await sending.send({ name: "Anna" }, ({ sent, count }) => told.push(`${sent}/${count}`))).training.id, "t_1");
    assert.deepEqual(asked, ["create", "addRecording", "addRecording", "addRecording", "start"]);
    assert.deepEqual(told, ["0/2", "1/3", "2/3"]);
    assert.deepEqual(heard(entries), [["One.", true], ["Two.", true], ["Three.", true]]);
  });

  test("one whose words are changed while others are sent is sent again with them", async (t) => {
    const { entries, asked, sending } = stage(t, ({ id }) => {
      const [first] = entries.all;
      if (id === "2" && first.sent === "r_1") {
        Object.assign(first, { transcript: "One, put right.", sent: null });
        entries.dispatchEvent(Object.assign(new Event("unsent"), { detail: "r_1" }));
      }
      return null;
    });
    assert.equal((await sending.send({ name: "Anna" }, () => {})).training.id, "t_1");
    assert.deepEqual(asked, ["create", "addRecording", "addRecording", "deleteRecording", "addRecording", "start"]);
    assert.deepEqual(heard(entries), [["One, put right.", true], ["Two.", true]]);
  });

  test("a training that went meanwhile is begun anew", async (t) => {
    let gone = false;
    const { entries, asked, sending } = stage(t, ({ id }) => (gone && id === "2" ? refusal(404, "unknown_training") : id === "2" ? refusal(422, "audio_silent") : null));
    await sending.send({ name: "Anna" }, () => {});
    gone = true;
    await assert.rejects(sending.send({ name: "Anna" }, () => {}), { code: "unknown_training" });
    assert.deepEqual(entries.all.map(({ sent }) => sent), [null, null]);
    asked.length = 0;
    await assert.rejects(sending.send({ name: "Anna" }, () => {}), { code: "unknown_training" });
    assert.deepEqual(asked, ["create", "addRecording", "addRecording"]);
  });

  test("what holds for all of it ends the sending", async (t) => {
    const { sending } = stage(t, () => refusal(413, "too_many_recordings"));
    await assert.rejects(sending.send({ name: "Anna" }, () => {}), { code: "too_many_recordings" });
  });
});
