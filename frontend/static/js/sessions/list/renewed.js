/**
 * A list that is asked for again because something of it goes on.
 *
 * @typedef {{rows: object[], next: string | null}} Rows newest first, and what asks for those behind them
 */

/**
 * From the newest on, as far as one of those that are known goes on. What is behind that stays as it is.
 *
 * @param {() => Rows} listed what is known of it by now @param {(before: string | null) => Promise<Rows>} ask for a page @param {(row: object) => boolean} goesOn
 * @returns {Promise<Rows>}
 */
export async function renewed(listed, ask, goesOn) {
  const rows = [];
  let before = null;
  let known = null;
  do {
    const page = await ask(before);
    rows.push(...page.rows);
    before = page.next;
    known = listed();
    const place = known.rows.findIndex(({ id }) => id === rows.at(-1)?.id);
    const behind = place < 0 ? [] : known.rows.slice(place + 1);
    if (behind.length > 0 && !behind.some(goesOn)) return { rows: [...rows, ...behind], next: known.next };
  } while (before !== null && rows.length < known.rows.length);
  return { rows, next: before };
}
