/**
 * A list of blocks without the last change that was made of it, and with what was typed since.
 */

/**
 * @param {{before: object[], after: object[]}} change the list before and after it
 * @param {object[]} now the list as it is: that of after, with what was typed
 * @returns {object[]}
 */
export function undone({ before, after }, now) {
  const [made, typed] = [byKey(after), byKey(now)];
  const list = before.map((block) => {
    const text = typedOver(block.text, made.get(block.key)?.text, typed.get(block.key)?.text);
    return text === block.text ? block : { ...block, text };
  });
  return withTyped(list, made, now);
}

const byKey = (blocks) => new Map(blocks.map((block) => [block.key, block]));

/** The text of before, with what was typed in that of after. Where the change made the very same place, what was typed stays. */
function typedOver(before, after, now) {
  if (after === undefined || now === undefined || now === after) return before;
  const typed = difference(after, now);
  const made = difference(after, before);
  const added = now.slice(typed.begin, now.length - typed.rest);
  if (after.length - typed.rest <= made.begin) return before.slice(0, typed.begin) + added + before.slice(after.length - typed.rest);
  if (typed.begin < after.length - made.rest) return now;
  const place = before.length - (after.length - typed.begin);
  return before.slice(0, place) + added + before.slice(before.length - typed.rest);
}

/** How many characters two texts have in common where they begin, and then where they end. */
function difference(one, other) {
  const most = Math.min(one.length, other.length);
  let begin = 0;
  while (begin < most && one[begin] === other[begin]) begin += 1;
  let rest = 0;
  while (rest < most - begin && one.at(-1 - rest) === other.at(-1 - rest)) rest += 1;
  return { begin, rest };
}

/** The list with blocks that the change made and that were typed in since, each behind the one that it follows. */
function withTyped(list, made, now) {
  const all = [...list];
  now.forEach((block, place) => {
    if (all.some(({ key }) => key === block.key) || !block.text.trim() || block.text === made.get(block.key)?.text) return;
    const follows = now[place - 1]?.key;
    const at = all.findIndex(({ key }) => key === follows);
    all.splice(follows && at < 0 ? all.length : at + 1, 0, block);
  });
  return all;
}
