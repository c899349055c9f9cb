/**
 * What is done with the blocks of a book, as functions of lists: nothing here changes what it is given.
 *
 * A block: {key, id, kind, text, voice, pause_ms, pronunciations}. The key is the page's own name of it, the id the
 * service's (null until it is kept there).
 */
import { folded } from "../../shared/page/search.js";

const PAUSE_MS = 700;
/** Between a narrator and who is quoted: a breath. */
const QUOTE_PAUSE_MS = 200;
const QUOTED = /“[^”]+”|"[^"\n]+"|«[^»]+»|„[^“”]+[“”]|「[^」]+」|『[^』]+』/gu;
export const FIELDS = ["kind", "text", "voice", "pause_ms", "pronunciations"];

let count = 0;

/** A block of the page. @param {object} fields of it; what is missing is usual */
export function draft({ id = null, kind = "paragraph", text = "", voice = null, pause_ms: pause = PAUSE_MS, pronunciations = {} }) {
  count += 1;
  return { key: `k${count}`, id, kind, text, voice, pause_ms: pause, pronunciations };
}

/** Whether two blocks say the same, in the same voice, with the same pause. */
export function sameFields(one, other) {
  return FIELDS.every((name) => JSON.stringify(one[name]) === JSON.stringify(other[name]));
}

/** Whether there is anything to speak. */
export function hasWords({ text }) {
  return /[\p{L}\p{N}]/u.test(text);
}

export function indexOf(blocks, key) {
  return blocks.findIndex((block) => block.key === key);
}

/** The list with fields of some blocks changed. @param {Set<string>} keys */
export function withFields(blocks, keys, fields) {
  return blocks.map((block) => (keys.has(block.key) ? { ...block, ...fields } : block));
}

export function without(blocks, keys) {
  return blocks.filter(({ key }) => !keys.has(key));
}

export function insertedAfter(blocks, key, added) {
  const place = indexOf(blocks, key) + 1;
  return [...blocks.slice(0, place), ...added, ...blocks.slice(place)];
}

/** One block as two, at a place of its text. The first keeps its id and so its takes. @returns {object[]} */
export function split(block, at) {
  const [before, after] = [block.text.slice(0, at).trimEnd(), block.text.slice(at).trimStart()];
  return [
    { ...block, text: before },
    draft({ text: after, voice: block.voice, pause_ms: block.pause_ms, pronunciations: block.pronunciations }),
  ];
}

/** Two blocks as one: that of the first, with the pause of the second. @returns {{block: object, at: number}} and where they meet */
export function joined(first, second) {
  const space = first.text && second.text && !/[\p{Script=Han}。！？」』]$/u.test(first.text) ? " " : "";
  const pronunciations = { ...second.pronunciations, ...first.pronunciations };
  const text = first.text + space + second.text;
  return { block: { ...first, text, pause_ms: second.pause_ms, pronunciations }, at: first.text.length };
}

/** The list with blocks moved before another one; null moves them to the end. @param {Set<string>} keys */
export function movedBefore(blocks, keys, before) {
  if (keys.has(before)) return blocks;
  const moved = blocks.filter(({ key }) => keys.has(key));
  const rest = without(blocks, keys);
  const place = before === null ? rest.length : indexOf(rest, before);
  return [...rest.slice(0, place), ...moved, ...rest.slice(place)];
}

/** The list with blocks one place further up (-1) or down (1), in their order; the ends stop them. */
export function stepped(blocks, keys, by) {
  const list = by < 0 ? [...blocks] : [...blocks].reverse();
  for (let place = 1; place < list.length; place += 1) {
    if (!keys.has(list[place].key) || keys.has(list[place - 1].key)) continue;
    [list[place - 1], list[place]] = [list[place], list[place - 1]];
  }
  return by < 0 ? list : list.reverse();
}

/** All of the text in parts: what is quoted, and what stands around it. @returns {{text: string, quoted: boolean}[]} */
export function parts(text) {
  const all = [];
  let shown = 0;
  for (const { 0: quote, index } of text.matchAll(QUOTED)) {
    all.push({ text: text.slice(shown, index), quoted: false }, { text: quote, quoted: true });
    shown = index + quote.length;
  }
  return [...all, { text: text.slice(shown), quoted: false }].filter(({ text: part }) => part);
}

/** The parts without the spaces between them. @returns {{text: string, quoted: boolean}[]} */
export function pieces(text) {
  return mergedSigns(parts(text).map((part) => ({ ...part, text: part.text.trim() })).filter(({ text: part }) => part));
}

/** Signs that stand alone between quotes belong to what is before them. */
function mergedSigns(found) {
  const kept = [];
  for (const piece of found) {
    if (kept.length > 0 && !hasWords(piece)) kept.at(-1).text += piece.text;
    else kept.push(piece);
  }
  return kept;
}

/**
 * Blocks that hold words, in any case; all of them where there are no words to look for. Of a paragraph whose quotes
 * have become blocks, the quotes are found by the words around them.
 * @param {{words: string, quotedOnly: boolean}} wanted @returns {object[]}
 */
export function found(blocks, { words, quotedOnly }) {
  const asked = folded(words.trim());
  const around = quotedOnly ? paragraphs(blocks) : new Map();
  return blocks.filter((block) => {
    if (!hasWords(block) || !folded(around.get(block) ?? block.text).includes(asked)) return false;
    return !quotedOnly || pieces(block.text).some(({ quoted }) => quoted);
  });
}

/** The whole text of the paragraph that each block is of: a breath alone does not end one. @returns {Map<object, string>} */
function paragraphs(blocks) {
  const texts = new Map();
  let begin = 0;
  blocks.forEach(({ pause_ms: pause }, place) => {
    if (pause === QUOTE_PAUSE_MS && place < blocks.length - 1) return;
    const paragraph = blocks.slice(begin, place + 1);
    for (const block of paragraph) texts.set(block, paragraph.map(({ text }) => text).join(" "));
    begin = place + 1;
  });
  return texts;
}

/** The list with a voice for blocks, or for what is quoted in them, which becomes blocks of its own. @param {Set<string>} keys */
export function withVoice(blocks, keys, voice, { quotedOnly = false } = {}) {
  if (!quotedOnly) return withFields(blocks, keys, { voice });
  return blocks.flatMap((block) => (keys.has(block.key) ? castQuotes(block, voice) : [block]));
}

function castQuotes(block, voice) {
  const parts = pieces(block.text);
  return parts.map(({ text, quoted }, index) => {
    const fields = { text, voice: quoted ? voice : block.voice, pause_ms: index === parts.length - 1 ? block.pause_ms : QUOTE_PAUSE_MS };
    return index === 0 ? { ...block, ...fields } : draft({ ...fields, pronunciations: block.pronunciations });
  });
}

/** How far a block is. @returns {"silent" | "making" | "queued" | "failed" | "ready" | "stale" | "none"} */
export function stateOf(block, kept) {
  if (!hasWords(block)) return "silent";
  const states = new Set((kept?.takes ?? []).map(({ state }) => state));
  if (states.has("making")) return "making";
  if (states.has("queued")) return "queued";
  if (kept?.take) return isStale(block, kept) ? "stale" : "ready";
  return states.has("failed") ? "failed" : "none";
}

/** Whether a take of a block is on its way. */
export function isPending(block, kept) {
  return ["making", "queued"].includes(stateOf(block, kept));
}

/** Whether the chosen take says something else than the block does now. */
function isStale(block, kept) {
  const changed = ["text", "voice", "pronunciations"].some((name) => JSON.stringify(block[name]) !== JSON.stringify(kept[name]));
  return kept.stale || changed;
}

/** How many blocks are in which state. @param {Map<string, object>} kept by id @returns {Record<string, number>} */
export function counted(blocks, kept) {
  const counts = { silent: 0, making: 0, queued: 0, failed: 0, ready: 0, stale: 0, none: 0 };
  for (const block of blocks) counts[stateOf(block, kept.get(block.id))] += 1;
  return counts;
}
