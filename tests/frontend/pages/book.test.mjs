/** Books: what is done with blocks, how versions are merged, and how the page saves. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as blocks from "../../../frontend/static/js/book/manuscript/blocks.js";
import { Manuscript } from "../../../frontend/static/js/book/manuscript/manuscript.js";
import { merged } from "../../../frontend/static/js/book/manuscript/merge.js";
import { bookRequest } from "../../../frontend/static/js/book/new-book.js";

const texts = (list) => list.map(({ text }) => text);
const list = (...words) => words.map((text) => blocks.draft({ id: `p_${text}`, text }));
const keysOf = (from, ...words) => new Set(from.filter(({ text }) => words.includes(text)).map(({ key }) => key));

describe("blocks", () => {
  test("a block is split at a place, and two become one again", () => {
    const [block] = list("One two.");
    const [first, second] = blocks.split({ ...block, voice: "anna" }, 4);
    assert.deepEqual([first.text, second.text, first.id, second.id, second.voice], ["One", "two.", "p_One two.", null, "anna"]);
    const { block: whole, at } = blocks.joined(first, { ...second, pause_ms: 9 });
    assert.deepEqual([whole.text, at, whole.id, whole.pause_ms], ["One two.", 3, "p_One two.", 9]);
  });

  test("selected blocks move together, and the ends stop them", () => {
    const all = list("a", "b", "c", "d");
    assert.equal(texts(blocks.stepped(all, keysOf(all, "b", "c"), -1)).join(""), "bcad");
    assert.equal(texts(blocks.stepped(all, keysOf(all, "a", "b"), -1)).join(""), "abcd");
    assert.equal(texts(blocks.stepped(all, keysOf(all, "b", "c"), 1)).join(""), "adbc");
    assert.equal(texts(blocks.movedBefore(all, keysOf(all, "a", "c"), all[3].key)).join(""), "bacd");
    assert.equal(texts(blocks.movedBefore(all, keysOf(all, "a"), null)).join(""), "bcda");
  });

  test("what is quoted is told from what stands around it", () => {
    const parts = (text) => blocks.pieces(text).map(({ text: piece, quoted }) => (quoted ? `<${piece}>` : piece));
    assert.deepEqual(parts("“Is he back?” asked Anna. “No.”"), ["<“Is he back?”>", "asked Anna.", "<“No.”>"]);
    assert.deepEqual(parts("他说：“好。”"), ["他说：", "<“好。”>"]);
    assert.deepEqual(parts('He said "yes".'), ["He said", '<"yes".>']);
    assert.deepEqual(parts("It's Anna's lamp."), ["It's Anna's lamp."]);
  });

  test("a voice for what somebody says makes blocks of the quotes alone", () => {
    const all = list("“Yes,” said Anna.", "Nothing is said.", "“No,” said Tom.");
    const hits = blocks.found(all, { words: "anna", quotedOnly: true });
    assert.deepEqual(texts(hits), ["“Yes,” said Anna."]);
    const cast = blocks.withVoice(all, new Set(hits.map(({ key }) => key)), "anna", { quotedOnly: true });
    assert.deepEqual(cast.map(({ text, voice }) => [text, voice]), [["“Yes,”", "anna"], ["said Anna.", null], ["Nothing is said.", null], ["“No,” said Tom.", null]]);
    assert.equal(cast[0].id, all[0].id);
    assert.ok(cast[0].pause_ms < cast[1].pause_ms);
  });

  test("quotes that are blocks already are found by the words around them", () => {
    const [line, other] = list("“Yes,” said Anna. “At last.”", "“No,” said Tom.");
    const cast = blocks.withVoice([line, other], new Set([line.key, other.key]), "walter", { quotedOnly: true });
    assert.deepEqual(texts(blocks.found(cast, { words: "anna", quotedOnly: true })), ["“Yes,”", "“At last.”"]);
    assert.deepEqual(texts(blocks.found(cast, { words: "anna", quotedOnly: false })), ["said Anna."]);
  });

  test("states of blocks", () => {
    const [block] = list("Hello.");
    const kept = { ...block, takes: [{ state: "ready" }], take: "t", stale: false };
    assert.equal(blocks.stateOf(block, kept), "ready");
    assert.equal(blocks.stateOf({ ...block, text: "Hello you." }, kept), "stale");
    assert.equal(blocks.stateOf(block, { ...kept, takes: [{ state: "ready" }, { state: "making" }] }), "making");
    assert.equal(blocks.stateOf(block, { ...kept, takes: [{ state: "failed" }], take: null }), "failed");
    assert.equal(blocks.stateOf({ ...block, text: "* * *" }, undefined), "silent");
    assert.equal(blocks.stateOf(block, undefined), "none");
  });
});

describe("two pages of one book", () => {
  const service = (...words) => words.map((text) => ({ ...blocks.draft({ id: `p_${text}`, text }), key: undefined }));

  test("what was typed here is put over what came from there", () => {
    const base = service("a", "b");
    const mine = base.map(blocks.draft).map((block) => (block.text === "a" ? { ...block, text: "a typed" } : block));
    const theirs = [{ ...base[1], voice: "tom" }, base[0], ...service("new")];
    const both = merged(base, mine, theirs);
    assert.deepEqual(both.map(({ text, voice, id }) => [text, voice, id]), [["b", "tom", "p_b"], ["a typed", null, "p_a"], ["new", null, "p_new"]]);
    assert.equal(both[1].key, mine[0].key);
  });

  test("an order of here stays, with what is new there, and text that was removed there is kept where it was typed", () => {
    const base = service("a", "b", "c");
    const mine = base.map(blocks.draft);
    const typed = { ...mine[1], text: "b typed" };
    const theirs = [base[0], ...service("x"), base[2]];
    const both = merged(base, [mine[2], mine[0], typed], theirs);
    assert.deepEqual(both.map(({ text, id }) => [text, id]), [["c", "p_c"], ["a", "p_a"], ["x", "p_x"], ["b typed", null]]);
  });
});

/** A service that keeps one book, as far as saving needs it. */
class Kept {
  version = 1;
  puts = [];

  constructor(...words) {
    this.blocks = words.map((text) => this.#block({ text }));
  }

  #block({ id, text, voice = null, ...more }) {
    return { kind: "paragraph", pause_ms: 700, pronunciations: {}, ...more, id: id ?? `p_${text}`, text, voice, takes: [], take: null, stale: false };
  }

  book() {
    return structuredClone({ id: "b", title: "T", voice: "default", version: this.version, blocks: this.blocks, progress: {} });
  }

  async get() {
    return this.book();
  }

  async setBlocks(_, version, sent) {
    this.puts.push(structuredClone(sent));
    if (version !== this.version) throw Object.assign(new Error("old"), { status: 409 });
    const known = new Set(this.blocks.map(({ id }) => id));
    if (sent.some(({ id }) => id && !known.has(id))) throw Object.assign(new Error("unknown"), { status: 422 });
    this.version += 1;
    this.blocks = sent.map((block) => this.#block(block));
    return this.book();
  }
}

describe("a manuscript", () => {
  test("saves all at once, learns ids, and sends nothing when nothing changed", async () => {
    const service = new Kept("a");
    const book = new Manuscript(service, service.book());
    book.change(blocks.insertedAfter(book.blocks, book.blocks[0].key, [blocks.draft({ text: "b" }), blocks.draft({})]));
    await book.save();
    await book.save();
    assert.deepEqual(texts(service.blocks), ["a", "b"]);
    assert.equal(service.puts.length, 1);
    assert.deepEqual(book.blocks.map(({ id }) => id), ["p_a", "p_b", null]);
    assert.ok(book.clean);
  });

  test("merges when another page was first, and loses no typed text", async () => {
    const service = new Kept("a", "b");
    const book = new Manuscript(service, service.book());
    await service.setBlocks("b", 1, [...service.blocks, { text: "c" }]);
    book.type(book.blocks[0].key, "a typed");
    await book.save();
    assert.deepEqual(texts(service.blocks), ["a typed", "b", "c"]);
    assert.deepEqual(texts(book.blocks), ["a typed", "b", "c"]);
  });

  test("is told what changed alone, and asks for all of it where that does not add up", async () => {
    const service = new Kept("a", "b");
    const asked = [];
    const take = (state) => [{ id: "j_1", state }];
    const [one, other] = service.book().blocks;
    const answers = [
      { ...service.book(), revision: "2", partial: true, blocks: [{ ...other, takes: take("making") }], progress: { making: 1, queued: 0 } },
      { ...service.book(), revision: "3", partial: true, blocks: [], progress: { making: 0, queued: 0 } },
      { ...service.book(), revision: "4", partial: false, blocks: [one, { ...other, takes: take("ready") }], progress: { making: 0, queued: 0 } },
    ];
    service.get = async (id, { since }) => (asked.push(since), answers.shift());
    const book = new Manuscript(service, { ...service.book(), revision: "1", partial: false });
    const changed = [];
    book.addEventListener("kept", ({ detail }) => changed.push(detail && [...detail]));
    const states = async () => (await book.refresh(), [...book.kept.values()].map(({ takes }) => takes[0]?.state));
    assert.deepEqual(await states(), [undefined, "making"]);
    assert.deepEqual(await states(), [undefined, "making"]); // that its take is ready was missed
    assert.deepEqual(await states(), [undefined, "ready"]);
    assert.deepEqual([asked, changed], [["1", "2", undefined], [["p_b"], [], null]]);
    assert.deepEqual(texts(book.blocks), ["a", "b"]);
  });

  test("an answer that never comes holds up nothing that is saved after it", async () => {
    const service = new Kept("a");
    const silent = (_, { signal } = {}) => {
      const waiting = setInterval(() => null, 1000); // a signal alone keeps no process alive
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))).finally(() => clearInterval(waiting));
    };
    const book = new Manuscript(service, service.book(), { patience: 5 });
    service.get = silent;
    const asking = assert.rejects(book.refresh(), { name: "TimeoutError" });
    book.type(book.blocks[0].key, "typed");
    await Promise.all([asking, book.save()]);
    assert.deepEqual(texts(service.blocks), ["typed"]);
    delete service.get;
    service.setBlocks = (id, version, blocks, options) => silent(id, options);
    book.type(book.blocks[0].key, "more");
    await assert.rejects(book.save(), { name: "TimeoutError" });
    delete service.setBlocks;
    await book.save();
    assert.deepEqual(texts(service.blocks), ["more"]);
  });

  test("what is typed while it saves is saved next", async () => {
    const service = new Kept("a");
    const book = new Manuscript(service, service.book());
    book.type(book.blocks[0].key, "first");
    const saving = book.save();
    await Promise.resolve();
    book.type(book.blocks[0].key, "second");
    await saving;
    await book.save();
    assert.equal(service.blocks[0].text, "second");
    assert.ok(book.clean);
  });

  test("a removal is undone with its id while the service has the block, and as a new block after", async () => {
    const service = new Kept("a", "b");
    const book = new Manuscript(service, service.book());
    book.change(blocks.without(book.blocks, keysOf(book.blocks, "a")), { removes: true });
    book.undo();
    assert.equal(book.blocks[0].id, "p_a");
    book.change(blocks.without(book.blocks, keysOf(book.blocks, "a")), { removes: true });
    await book.save();
    book.undo();
    assert.deepEqual([book.blocks[0].text, book.blocks[0].id], ["a", null]);
    await book.save();
    assert.deepEqual(texts(service.blocks), ["a", "b"]);
  });

  test("a removal that is undone while it is saved comes back as a new block", async () => {
    const service = new Kept("a", "b");
    const book = new Manuscript(service, service.book());
    book.change(blocks.without(book.blocks, keysOf(book.blocks, "a")), { removes: true });
    const saving = book.save();
    await Promise.resolve();
    book.undo();
    await saving;
    await book.save();
    assert.deepEqual(texts(service.blocks), ["a", "b"]);
    assert.ok(book.clean);
  });

  test("what was typed since a change stays when that is undone", async () => {
    const service = new Kept("a", "b");
    const book = new Manuscript(service, service.book());
    const [, { key }] = book.blocks;
    book.change(blocks.without(book.blocks, keysOf(book.blocks, "a")), { removes: true });
    book.type(key, "b typed");
    book.change(blocks.withVoice(book.blocks, new Set([key]), "tom"));
    book.type(key, "b typed on");
    book.undo();
    assert.deepEqual(book.blocks.map(({ text, voice }) => [text, voice]), [["b typed on", null]]);
    book.undo();
    await book.save();
    assert.deepEqual(texts(service.blocks), ["a", "b typed on"]);
  });

  test("so does what was typed in blocks that the change made", () => {
    const undone = (words, make, type) => {
      const service = new Kept(...words);
      const book = new Manuscript(service, service.book());
      book.change(make(book.blocks));
      book.blocks.forEach(({ key }, place) => type[place] && book.type(key, type[place]));
      book.undo();
      return texts(book.blocks);
    };
    const halved = ([block]) => blocks.split(block, 4);
    const whole = ([first, second]) => [blocks.joined(first, second).block];
    const added = (all) => blocks.insertedAfter(all, all[0].key, [blocks.draft({})]);
    assert.deepEqual(undone(["One two."], halved, []), ["One two."]);
    assert.deepEqual(undone(["One two."], halved, ["And one"]), ["And one two."]);
    assert.deepEqual(undone(["One two."], halved, ["One more"]), ["One more two."]);
    assert.deepEqual(undone(["One two."], halved, [null, "two, typed."]), ["One two.", "two, typed."]);
    assert.deepEqual(undone(["One.", "Two."], whole, ["And one. Two."]), ["And one.", "Two."]);
    assert.deepEqual(undone(["One.", "Two."], whole, ["One. Two. Three."]), ["One. Three.", "Two."]);
    assert.deepEqual(undone(["One.", "Two."], whole, ["One. Or two."]), ["One. Or two.", "Two."]);
    assert.deepEqual(undone(["One.", "Two."], added, [null, "New."]), ["One.", "New.", "Two."]);
    assert.deepEqual(undone(["One.", "Two."], added, [null, " "]), ["One.", "Two."]);
  });
});

test("a book is called what its document says, else its file, else how it begins", () => {
  const read = { title: null, language: null, blocks: [{ kind: "paragraph", text: "Once upon a time there was a lamp in it." }] };
  assert.equal(bookRequest({ ...read, title: "The Lamp" }, "a.epub", "?").title, "The Lamp");
  assert.equal(bookRequest(read, "lamp.epub", "?").title, "lamp");
  assert.equal(bookRequest(read, "text.txt", "?").title, "Once upon a time there was a lamp …");
});
