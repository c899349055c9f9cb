"""The second tier of the KV cache: which blocks that the device forgot lie in memory of the host.

A block of the device that is handed out again loses what it held. With a second tier that is copied to a slot
of the host first, found there by the same prefix, and brought back instead of being computed:

    tier.keep(prefix, block=7, reused=False)     # block 7 is about to be taken; copied at the next `flush`
    tier.has(prefix)                             # True, until its slot is needed for something better
    transfer = tier.bring([(prefix, 3)], ...)    # into block 3

There are fewer slots than blocks that were ever computed, so there are three ranks, each in the order of use:

    expected    of sequences that gave up their blocks and will go on: never pushed out
    reused      found by a second sequence, or part of a voice; at most `REUSED_SHARE` of the slots
    once        everything else: most clips are spoken once, and nobody asks for their blocks again

What is kept pushes out the oldest of its own rank or a lower one, and is dropped when there is none: however
many clips are spoken meanwhile, they push out neither a paused session nor a voice.

This file counts and decides. `engine.kv_cache.host_memory` copies.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.errors import require
from engine.kv_cache.figures import CacheFigures
from engine.kv_cache.prefix import Prefix

REUSED_SHARE = 0.8
"""Share of the slots for what is reused; more of it counts as used once, to give new prefixes a chance."""

SOON_SECONDS, SOON_SHARE = 1e-3, 0.1
"""The longest that one step may wait for copies, together: so many seconds or so much of a step, whichever is
more. A step takes 4 to 20 ms on a GPU, beneath which such copies pass, if it is launched before the step that
needs them."""


class Transfer(Protocol):
    """Blocks on their way to the device."""

    def done(self) -> bool:
        """Whether they are there; from then on kernels launched by this thread see them."""

    def wait(self) -> None:
        """Wait until the blocks are there."""

    def abandon(self) -> None:
        """Nobody will ask: what is launched from now on may use their blocks otherwise."""


class BlockStore(Protocol):
    """Slots of host memory, each for one block of the device. What is asked for happens in this order."""

    num_slots: int
    block_bytes: int

    def store(self, blocks: Sequence[int], slots: Sequence[int]) -> None:
        """Copies blocks as they are now; the caller may have them overwritten at once."""

    def load(self, slots: Sequence[int], blocks: Sequence[int], at_once: bool = False) -> Transfer:
        """Copies back into blocks that nobody uses.

        at_once: in order with the kernels: those launched from now on see the blocks, and wait for them where
            they have to; the host does not, and the transfer is done.
        """

    def seconds_for(self, count: int) -> float:
        """How long it takes to load so many blocks, as far as is known."""


@dataclass(slots=True, eq=False)
class Entry:
    """What lies in a slot. reused: see the ranks above."""

    prefix: Prefix
    slot: int
    reused: bool


class HostTier:
    """See the module.

    Args:
        compute_seconds: how long a step takes to compute so many positions of a prompt; 0 while unknown.
        step_seconds: how long the present steps take; 0 while unknown.
        always: bring back whatever is found, however long computing it would take.
    """

    def __init__(
        self,
        store: BlockStore,
        figures: CacheFigures,
        compute_seconds: Callable[[int], float] = lambda positions: 0.0,
        step_seconds: Callable[[], float] = lambda: 0.0,
        always: bool = False,
    ) -> None:
        self._store, self._figures = store, figures
        self._compute_seconds, self._step_seconds, self._always = compute_seconds, step_seconds, always
        self._free = list(reversed(range(store.num_slots)))
        self._entries: dict[bytes, Entry] = {}
        self._expected, self._reused, self._once = OrderedDict[bytes, Entry](), OrderedDict(), OrderedDict()
        self._wanted: Counter[bytes] = Counter()
        """How many sequences expect a prefix back, whether it is here or not."""
        self._unsent: dict[int, int] = {}
        """Block of the device by slot, of what is not copied yet."""
        self._soon_seconds = 0.0
        """Seconds that the copies take for which the next step waits."""

    def has(self, prefix: Prefix) -> bool:
        """Whether the contents of a block with this prefix lie here."""
        entry = self._entries.get(prefix.digest)
        return entry is not None and entry.prefix.same_as(prefix)

    def pays(self, num_blocks: int, num_positions: int) -> bool:
        """Whether so many blocks are brought back sooner than their positions are computed."""
        if self._always:
            return True
        computing = self._compute_seconds(num_positions)
        return not computing or self._store.seconds_for(num_blocks) <= computing

    def keep(self, prefix: Prefix, block: int, reused: bool) -> None:
        """Takes over what `block` holds, unless everything here is worth more."""
        entry = self._entries.get(prefix.digest)
        if entry is not None:  # another one of the same digest stays
            entry.reused |= reused
            self._rank(entry)
            return
        slot = self._slot_for(reused, prefix.digest in self._wanted)
        if slot is None:
            self._figures.dropped_blocks += 1
            return
        entry = Entry(prefix, slot, reused)
        self._entries[prefix.digest] = entry
        self._unsent[slot] = block
        self._rank(entry)

    def expect(self, prefixes: Iterable[Prefix]) -> None:
        """A sequence that gives up its blocks will ask for these."""
        self._count(prefixes, 1)

    def release(self, prefixes: Iterable[Prefix], block_size: int) -> None:
        """It has them again or has ended. Part of a block is of no use to anybody else and is forgotten."""
        prefixes = list(prefixes)
        self._count(prefixes, -1)
        for prefix in prefixes:
            if len(prefix.tokens) < block_size and not self._wanted[prefix.digest]:
                self._drop(prefix.digest)

    def bring(self, wanted: Sequence[tuple[Prefix, int]], returns: bool) -> Transfer:
        """Copies each prefix into a block of the device; they must be here.

        The next step waits for copies that are short beside it, all together: that costs it less than leaving
        their sequences out of it.

        returns: to who gave them up, which proves nothing about their use to others.
        """
        self.flush()
        entries = [self._entries[prefix.digest] for prefix, _ in wanted]
        for entry in entries:
            entry.reused |= not returns
            self._rank(entry)
        self._figures.brought_blocks += len(entries)
        slots, blocks = [entry.slot for entry in entries], [block for _, block in wanted]
        return self._store.load(slots, blocks, at_once=self._soon(len(blocks)))

    def _soon(self, num_blocks: int) -> bool:
        seconds = self._store.seconds_for(num_blocks)
        limit_seconds = max(SOON_SECONDS, SOON_SHARE * self._step_seconds())
        if not 0 < seconds <= limit_seconds - self._soon_seconds:
            return False
        self._soon_seconds += seconds
        return True

    def step_begins(self) -> None:
        """Copies what was kept; the next step may wait for other copies."""
        self.flush()
        self._soon_seconds = 0.0

    def flush(self) -> None:
        """Copies what was kept since; before anybody writes to its blocks."""
        if self._unsent:
            slots, blocks = list(self._unsent), list(self._unsent.values())
            self._unsent.clear()
            self._figures.stored_blocks += len(slots)
            self._store.store(blocks, slots)

    def _count(self, prefixes: Iterable[Prefix], change: int) -> None:
        for prefix in prefixes:
            self._wanted[prefix.digest] += change
            if self._wanted[prefix.digest] <= 0:
                del self._wanted[prefix.digest]
            if entry := self._entries.get(prefix.digest):
                self._rank(entry)

    def _rank(self, entry: Entry) -> None:
        """Makes an entry the latest of its rank."""
        digest = entry.prefix.digest
        for rank in (self._expected, self._reused, self._once):
            rank.pop(digest, None)
        if digest in self._wanted:
            self._expected[digest] = entry
        elif entry.reused:
            self._reused[digest] = entry
            if len(self._reused) > max(1, int(REUSED_SHARE * self._store.num_slots)):
                oldest, demoted = self._reused.popitem(last=False)
                demoted.reused = False
                self._once[oldest] = demoted
        else:
            self._once[digest] = entry

    def _slot_for(self, reused: bool, expected: bool) -> int | None:
        if self._free:
            return self._free.pop()
        ranks = [self._once]
        if reused or expected:
            ranks.append(self._reused)
        oldest = next((next(iter(rank)) for rank in ranks if rank), None)
        if oldest is None:
            return None
        self._drop(oldest)
        return self._free.pop()

    def _drop(self, digest: bytes) -> None:
        entry = self._entries.pop(digest, None)
        if entry is None:
            return
        for rank in (self._expected, self._reused, self._once):
            rank.pop(digest, None)
        self._unsent.pop(entry.slot, None)
        self._free.append(entry.slot)

    def check_invariants(self, expected: Iterable[Prefix]) -> None:
        """Checks the whole state. expected: of all sequences that wait for their blocks.

        Raises:
            EngineError: names the first rule that does not hold.
        """
        slots = [entry.slot for entry in self._entries.values()]
        require(sorted(slots + self._free) == list(range(self._store.num_slots)), "a slot is lost or shared")
        ranked = [*self._expected.items(), *self._reused.items(), *self._once.items()]
        require(len(ranked) == len(self._entries) and dict(ranked) == self._entries, "an entry has no rank")
        require(
            self._wanted == Counter(prefix.digest for prefix in expected), "what is expected is miscounted"
        )
        require(set(self._expected) == set(self._wanted) & set(self._entries), "an entry has the wrong rank")
        require(set(self._unsent) <= set(slots), "a slot without an entry is about to be written")
