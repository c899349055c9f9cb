/** Text files in encodings that nothing names. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decoded, encodingOf } from "../../frontend/static/js/shared/files/character-sets.js";
import { textOf } from "../../frontend/static/js/shared/files/text-of.js";

/** Of Windows-1252, which TextDecoder of some versions of Node takes for Latin-1. */
const SIGNS = Object.entries({ "€": 0x80, "„": 0x84, "…": 0x85, "’": 0x92, "“": 0x93, "—": 0x97 });

/** The escape of ISO-2022-JP. */
const JAPANESE = [0x1b, 0x24, 0x42];

/** Characters to bytes, as TextDecoder reads them; of ISO-2022-JP those between the escapes of its main set. */
function encoder(name) {
  const found = new Map(name === "windows-1252" ? SIGNS.map(([sign, byte]) => [sign, [byte]]) : []);
  const isOfMail = name === "iso-2022-jp";
  const note = (bytes) => {
    const character = decoded(Uint8Array.from(isOfMail ? [...JAPANESE, ...bytes] : bytes), name);
    if (character?.length === 1 && !found.has(character)) found.set(character, bytes);
  };
  for (let byte = 0; byte < 256 && !isOfMail; byte += 1) note([byte]);
  const [lead, trail] = isOfMail ? [0x21, 0x21] : [0x81, 0x40];
  for (let one = lead; one < 0xff; one += 1) for (let other = trail; other < 0xff; other += 1) note([one, other]);
  return (text) => Uint8Array.from([...(isOfMail ? JAPANESE : []), ...[...text].flatMap((character) => found.get(character))]);
}

test("a text file is read in the encoding of its writing, as the service reads it", async () => {
  const { told, unknown } = JSON.parse(readFileSync(new URL("../writings.json", import.meta.url), "utf8"));
  for (const { text, browser } of told) {
    const bytes = encoder(browser)(text);
    assert.equal(encodingOf(bytes), browser, text);
    assert.equal(await textOf(new Blob([bytes])), new TextDecoder(browser).decode(bytes).normalize());
  }
  for (const { bytes } of unknown) {
    await assert.rejects(textOf(new Blob([Buffer.from(bytes, "hex")])), { code: "document_encoding" });
  }
  const damaged = new Blob(["Все счастливые ", Uint8Array.of(0xff), " похожи друг на друга"]);
  assert.equal(await textOf(damaged), "Все счастливые \ufffd похожи друг на друга");
});

test("a large file with an escape is not taken apart byte by byte", (t) => {
  const made = t.mock.method(String, "fromCharCode");
  assert.equal(encodingOf(new TextEncoder().encode(`${"a".repeat(200_000)}\x1b`)), "utf-8");
  assert.equal(encodingOf(new TextEncoder().encode(`${"a".repeat(200_000)}\x1b$B$"\x1b(B`)), "iso-2022-jp");
  assert.equal(made.mock.callCount(), 0);
});
