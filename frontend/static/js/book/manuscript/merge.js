/**
 * One list of blocks out of three: what both began with (`base`), what this page made of it (`mine`), and what the
 * service has since another page saved it (`theirs`). Nothing that was typed here is lost.
 */
import { FIELDS, draft, sameFields } from "./blocks.js";

/** @param {object[]} base @param {object[]} mine @param {object[]} theirs blocks of the service @returns {object[]} */
export function merged(base, mine, theirs) {
  const [before, after] = [byId(base), byId(theirs)];
  const own = new Map(mine.filter(({ id }) => id).map((block) => [block.id, block]));
  const movedHere = order(base) !== order(mine);
  if (!movedHere) return theirs.map((block) => overlaid(before.get(block.id), own.get(block.id), block)).concat(rescued(before, after, mine));
  const kept = mine.flatMap((block) => survivor(before, after, block));
  return withTheirNew(kept, before, theirs);
}

const byId = (blocks) => new Map(blocks.map((block) => [block.id, block]));
const order = (blocks) => blocks.map(({ id }) => id ?? "new").join(" ");

/** Their block with what was changed here. */
function overlaid(before, mine, theirs) {
  if (!mine) return draft(theirs);
  const changed = FIELDS.filter((name) => before && JSON.stringify(before[name]) !== JSON.stringify(mine[name]));
  const fields = Object.fromEntries(changed.map((name) => [name, mine[name]]));
  return { ...draft(theirs), ...fields, key: mine.key, id: theirs.id };
}

/** What was changed here and removed there: it stays, as a new block. */
function rescued(before, after, mine) {
  const lost = mine.filter((block) => block.id && !after.has(block.id) && before.has(block.id) && !sameFields(block, before.get(block.id)));
  return lost.map((block) => ({ ...block, id: null }));
}

function survivor(before, after, block) {
  if (!block.id) return [block];
  if (after.has(block.id)) return [overlaid(before.get(block.id), block, after.get(block.id))];
  return rescued(before, after, [block]);
}

/** Blocks that only they have, each behind the one that it follows there. */
function withTheirNew(kept, before, theirs) {
  const list = [...kept];
  theirs.forEach((block, place) => {
    if (before.has(block.id)) return;
    const follows = theirs[place - 1]?.id;
    const at = follows ? list.findIndex(({ id }) => id === follows) : -1;
    list.splice(follows && at < 0 ? list.length : at + 1, 0, draft(block));
  });
  return list;
}
