/** What the chat page is made of, without a browser: what is in an answer, and a conversation with its turns. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { blocksOf, partsOf } from "../../../frontend/static/js/chat/answer-text.js";
import { Talk, messagesOf } from "../../../frontend/static/js/chat/talk.js";

describe("what was thought, and what is said", () => {
  for (const [name, text, expected] of [
    ["nothing was thought", "Hello.", ["", "Hello.", false]],
    ["before and after", "<think>\nHm.\n</think>\n\nHello.", ["Hm.", "Hello.", false]],
    ["it still thinks", "<think>\nHm", ["Hm", "", true]],
    ["half a mark", "<thi", ["", "", true]],
    ["nothing yet", "", ["", "", false]],
    ["the template has the first mark", "Hm.</think>Hello.", ["Hm.", "Hello.", false]],
    ["it was asked not to think", "<think>\n\n</think>\n\nHello.", ["", "Hello.", false]],
    ["a mark in the middle is text", "Write <think> so.", ["", "Write <think> so.", false]],
  ]) {
    test(name, () => {
      const { thought, said, thinking } = partsOf(text);
      assert.deepEqual([thought, said, thinking], expected);
    });
  }
});

describe("paragraphs and code", () => {
  const shown = (text) => blocksOf(text).map(({ kind, text: words, language }) => (kind === "code" ? [words, language] : words));

  test("blank lines part paragraphs, which keep their lines", () => {
    assert.deepEqual(shown("One\ntwo\n\n \n- three\n- four\n"), ["One\ntwo", "- three\n- four"]);
    assert.deepEqual(shown(""), []);
  });

  test("code stands between fences, as it was written", () => {
    const text = "So:\n```python\nif x:\n\n    y()\n```\nand\n~~~\n``` is a fence\n~~~";
    assert.deepEqual(shown(text), ["So:", ["if x:\n\n    y()", "python"], "and", ["``` is a fence", ""]]);
  });

  test("code whose end has not come yet is code, and a fence in a list loses its indentation", () => {
    assert.deepEqual(shown("```js\nlet a"), [["let a", "js"]]);
    assert.deepEqual(shown("```js"), [["", "js"]]);
    assert.deepEqual(shown("1. so\n   ```\n   a\n     b\n   ```"), ["1. so", ["a\n  b", ""]]);
  });

  test("a fence tells the language in its first word, and has no backtick behind it", () => {
    assert.deepEqual(shown("``` js  of mine\na\n``` \nb"), [["a", "js"], "b"]);
    assert.deepEqual(shown("~~~~ \n~~~\n~~~~~"), [["~~~", ""]]);
    assert.deepEqual(shown("```js`\n~~~ `a`"), ["```js`\n~~~ `a`"]);
  });

  test("a row of marks without end is read at once", () => {
    for (const row of ["~".repeat(50_000), "~~~" + " ".repeat(50_000), "```" + "a".repeat(50_000)]) {
      assert.deepEqual(shown(`${row}\``), [`${row}\``]); // which took hours, with every piece of the answer
    }
  });

  test("signs of HTML are text like any other", () => {
    assert.deepEqual(shown("<b>a</b> & `c`"), ["<b>a</b> & `c`"]);
  });
});

describe("what a model is told", () => {
  test("answers go without thoughts, and what says nothing is left out", () => {
    const turns = [
      { role: "user", text: "Hi." },
      { role: "assistant", text: "<think>Hm.</think>Hello.", state: "complete" },
      { role: "user", text: "And?" },
      { role: "assistant", text: "<think>Hm", state: "stopped" },
      { role: "user", text: "Well?" },
    ];
    const told = ["Hi.", "Hello.", "And?", "Well?"];
    assert.deepEqual(messagesOf(turns).map(({ content }) => content), told);
    assert.deepEqual(messagesOf(turns, " Be brief. ")[0], { role: "system", content: "Be brief." });
    assert.equal(messagesOf(turns, "  ").length, told.length);
  });
});

/** An answer that a test writes, piece by piece. */
class FakeStream extends EventTarget {
  #pieces = [];
  #wake = () => null;
  answer = null;

  constructor(messages, options) {
    super();
    Object.assign(this, { messages, options });
    options.signal.addEventListener("abort", () => this.fails(new DOMException("stopped", "AbortError")));
  }

  writes(piece) {
    this.#pieces.push({ piece });
    this.#wake();
  }

  fails(error) {
    this.#pieces.push({ error });
    this.#wake();
  }

  ends(answer = {}) {
    this.answer = { text: "", finishReason: "stop", model: "m", seed: 1, promptTokens: 3, completionTokens: 2, ...answer };
    this.#pieces.push({ over: true });
    this.#wake();
  }

  tells(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  async *[Symbol.asyncIterator]() {
    for (;;) {
      while (this.#pieces.length === 0) await new Promise((resolve) => (this.#wake = resolve));
      const { piece, error, over } = this.#pieces.shift();
      if (error) throw error;
      if (over) return;
      yield piece;
    }
  }
}

describe("a conversation", () => {
  let talk, memory, streams, kept, told;

  beforeEach(() => {
    [streams, told, kept] = [[], [], {}];
    const client = { streamChat: (...asked) => streams[streams.push(new FakeStream(...asked)) - 1] };
    memory = { load: () => structuredClone(kept), save: (value) => (kept = structuredClone(value)) };
    talk = new Talk(client, memory);
    for (const type of ["state", "queued", "audio", "answered", "failed"]) {
      talk.addEventListener(type, ({ detail }) => told.push([type, detail?.state ?? detail?.code ?? detail]));
    }
  });

  const texts = () => talk.turns.map(({ text }) => text);

  test("an answer is written piece by piece, and kept", async () => {
    const asked = talk.ask("Hi.", { system: "Be brief.", temperature: 0.5 });
    assert.deepEqual(streams[0].messages.map(({ role }) => role), ["system", "user"]);
    assert.equal(streams[0].options.temperature, 0.5);
    assert.ok(!("system" in streams[0].options));
    streams[0].tells("queued", { position: 2 });
    streams[0].writes("Hel");
    streams[0].writes("lo.");
    streams[0].ends();
    await asked;
    assert.deepEqual(told, [["state", "asking"], ["queued", { position: 2 }], ["state", "writing"], ["state", "idle"], ["answered", "complete"]]);
    assert.deepEqual(texts(), ["Hi.", "Hello."]);
    const { state, model, tokens } = kept.turns[1];
    assert.deepEqual([state, model, tokens], ["complete", "m", 2]);
  });

  test("two tabs that ask at once lose nothing of each other", async () => {
    await Promise.all([talk.ask("Before.", {}), streams[0].ends()]);
    const other = new Talk({ streamChat: (...asked) => streams[streams.push(new FakeStream(...asked)) - 1] }, memory);
    other.load();
    const [one, two] = [talk.ask("Here?", {}), other.ask("There?", {})];
    assert.deepEqual(streams[2].messages.map(({ content }) => content), ["Before.", "Here?", "There?"]);
    streams[1].writes("Here.");
    streams[1].ends();
    await one;
    streams[2].writes("There.");
    streams[2].ends();
    await two;
    talk.load();
    assert.deepEqual(texts(), ["Before.", "", "Here?", "Here.", "There?", "There."]);
    assert.deepEqual(other.turns, talk.turns);
  });

  test("an answer that ends after another tab began anew is the first of the new conversation", async () => {
    const other = new Talk({}, memory);
    const asked = talk.ask("Here?", {});
    other.load();
    other.clear();
    streams[0].writes("Here.");
    streams[0].ends();
    await asked;
    assert.deepEqual(texts(), ["Here?", "Here."]);
  });

  test("what waits to be spoken says so until it is heard, whatever is written meanwhile", async () => {
    const asked = talk.ask("Hi.", {});
    streams[0].writes("Hel");
    await new Promise(setImmediate);
    streams[0].tells("queued", { position: 2, speech: true });
    streams[0].writes("lo.");
    await new Promise(setImmediate);
    assert.equal(talk.state, "waiting");
    streams[0].tells("audio", new ArrayBuffer(2));
    streams[0].tells("queued", { position: 1 }); // its worker was lost
    streams[0].writes(" Bye.");
    streams[0].ends();
    await asked;
    const states = told.filter(([type]) => type === "state").map(([, state]) => state);
    assert.deepEqual(states, ["asking", "writing", "waiting", "writing", "asking", "writing", "idle"]);
  });

  test("what is stopped stays, and nothing comes after it", async () => {
    const asked = talk.ask("Hi.", {});
    streams[0].writes("Hel");
    await new Promise(setImmediate);
    talk.stop();
    assert.equal(talk.busy, false);
    streams[0].tells("audio", new ArrayBuffer(2));
    streams[0].writes("lo.");
    await asked;
    assert.deepEqual(texts(), ["Hi.", "Hel"]);
    assert.equal(kept.turns[1].state, "stopped");
    assert.deepEqual(told.map(([type]) => type), ["state", "state", "state", "answered"]);
  });

  test("of an answer that did not begin nothing is left but the question", async () => {
    const asked = talk.ask("Hi.", {});
    streams[0].fails({ code: "queue_full" });
    await asked;
    assert.deepEqual(texts(), ["Hi."]);
    assert.deepEqual(told.at(-1), ["failed", "queue_full"]);
    const again = talk.again({});
    streams[1].writes("Hello.");
    streams[1].fails({ code: "connection_lost" });
    await again;
    assert.deepEqual(talk.turns.at(-1).state, "broken");
  });

  test("the last question is asked again, or in other words, in the place of its answer", async () => {
    kept = { turns: [{ role: "user", text: "One?" }, { role: "assistant", text: "1", state: "complete" }, { role: "user", text: "Two?" }, { role: "assistant", text: "2", state: "length" }] };
    assert.ok(talk.load());
    for (const [ask, expected] of [[() => talk.again({}), "Two?"], [() => talk.reword("Three?", {}), "Three?"]]) {
      const asked = ask();
      streams.at(-1).writes("Well.");
      streams.at(-1).ends({ finishReason: "length" });
      await asked;
      assert.deepEqual(texts(), ["One?", "1", expected, "Well."]);
      assert.equal(streams.at(-1).messages.length, 3);
      assert.equal(talk.turns.at(-1).state, "length");
    }
    assert.equal(talk.lastQuestion, "Three?");
  });

  test("a new one forgets, and what was forgotten can be brought back", async () => {
    const asked = talk.ask("Hi.", {});
    streams[0].writes("Hello.");
    await new Promise(setImmediate);
    const before = talk.clear();
    await asked;
    assert.deepEqual([talk.turns, kept.turns], [[], []]);
    talk.restore(before);
    assert.deepEqual(kept.turns.map(({ text }) => text), ["Hi.", "Hello."]);
  });

  test("a page that was left in the middle has what there was, and a busy one is not changed by others", async () => {
    kept = { turns: [{ role: "user", text: "Hi." }, { role: "assistant", text: "Hel", state: "writing" }] };
    talk.load();
    assert.equal(talk.turns[1].state, "stopped");
    talk.ask("And?", {});
    kept = { turns: [] };
    assert.equal(talk.load(), false);
    assert.equal(talk.turns.length, 4);
    talk.stop();
    kept = { turns: "nonsense" };
    assert.ok(talk.load());
    assert.deepEqual(talk.turns, []);
  });

  test("of a conversation that others have written into, what is a turn is shown", () => {
    const odd = [null, 7, "Hi.", [], {}, { role: "system", text: "Be brief." }, { role: "user" }, { role: "assistant", text: null, state: "complete" }];
    const answer = { role: "assistant", text: "Hello.", state: "lost", model: { name: "m" }, tokens: "many", seconds: null };
    kept = { turns: [...odd, { role: "user", text: "Hi." }, answer] };
    assert.ok(talk.load());
    assert.deepEqual(texts(), ["Hi.", "Hello."]);
    assert.deepEqual(talk.turns[1], { role: "assistant", text: "Hello.", state: "stopped", model: undefined, tokens: undefined, seconds: undefined });
  });
});
