/**
 * Which of the listed requests are chosen, and by which kinds they can be: all, those of one client, of one protocol,
 * with one voice. One that has left the list is not chosen any more.
 */
const KINDS = ["tenant", "protocol", "voice"];

export class Choice {
  #chosen = new Set();
  #requests = [];

  /** @param {object[]} requests as in GET /api/queue; those without a ticket cannot be ended */
  list(requests) {
    this.#requests = requests.filter(({ ticket_id: ticket }) => ticket);
    const listed = new Set(this.#requests.map(({ ticket_id: ticket }) => ticket));
    this.#chosen = new Set([...this.#chosen].filter((ticket) => listed.has(ticket)));
  }

  has(ticket) {
    return this.#chosen.has(ticket);
  }

  set(ticket, chosen) {
    if (chosen) this.#chosen.add(ticket);
    else this.#chosen.delete(ticket);
  }

  clear() {
    this.#chosen.clear();
  }

  /** @param {string} kind "all", or one of `kinds` @param {string} [value] */
  add(kind, value) {
    for (const request of this.#requests) if (kind === "all" || request[kind] === value) this.#chosen.add(request.ticket_id);
  }

  get tickets() {
    return [...this.#chosen];
  }

  get size() {
    return this.#chosen.size;
  }

  /** What can be chosen at once: all where there are several, and each kind that is some of them. */
  get kinds() {
    const total = this.#requests.length;
    if (total < 2) return [];
    const found = KINDS.flatMap((kind) => [...countsOf(this.#requests, kind)].map(([value, count]) => ({ kind, value, count })));
    return [{ kind: "all", value: "", count: total }, ...found.filter(({ value, count }) => value && count > 1 && count < total)];
  }
}

/** How many requests have each value. */
function countsOf(requests, kind) {
  const counts = new Map();
  for (const request of requests) counts.set(request[kind], (counts.get(request[kind]) ?? 0) + 1);
  return counts;
}
