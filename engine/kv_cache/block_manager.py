"""Which blocks of the KV cache a sequence gets, and which of them it need not compute.

Blocks are reference counted. A full block whose keys and values have been computed is remembered by a hash of
everything from the salt to its last token. A later sequence with the same beginning takes the block instead
of computing it again. It can do so after the owner has gone, too, until the block is needed for something
else. With block size 4 and the prompts

    A = [1 2 3 4][5 6 7 8][9]        B = [1 2 3 4][5 6 7 8][9 9]

B takes A's first two blocks and computes two positions. The last token is never taken from the cache, because
computing it yields the next token: of [1 2 3 4][5 6 7 8] only the first block is taken.

Of a sequence that gives up its blocks and will go on, all is remembered that it has computed, a part of a
block included. `Sequence.kept` names what it expects back.

Where there is a second tier (`engine.kv_cache.host_tier`), blocks that are handed out again go there first,
and what is not on the device is looked for there. Such blocks are on their way for a while. Their sequence
has its block table already, but nobody may compute it or share these blocks until `arrived` says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.errors import EngineError
from engine.kv_cache.blocks import Blocks, Found
from engine.kv_cache.figures import CacheFigures
from engine.kv_cache.host_tier import HostTier
from engine.kv_cache.invariants import check_blocks, check_sequence
from engine.kv_cache.prefix import Prefix
from engine.sequence import Arrival, Sequence


class BlockManager:
    """Hands out blocks to sequences and shares the computed ones.

    Args:
        num_blocks: blocks of the cache, numbered from 0.
        block_size: positions per block.
        enable_prefix_caching: False never shares, and remembers nothing.
        host: where blocks go that are forgotten here.
    """

    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        enable_prefix_caching: bool = True,
        host: HostTier | None = None,
        figures: CacheFigures | None = None,
    ) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.enable_prefix_caching = enable_prefix_caching
        self.figures = figures or CacheFigures()
        self._host = host
        self._blocks = Blocks(num_blocks, host)

    @property
    def num_free_blocks(self) -> int:
        """Blocks that no sequence uses, those with reusable contents included."""
        return len(self._blocks.free)

    def blocks_for(self, num_tokens: int) -> int:
        """Blocks that `num_tokens` positions need."""
        return -(-num_tokens // self.block_size)

    def allocate(self, sequence: Sequence, reserve: int = 0) -> bool:
        """Gives a sequence without blocks all those its tokens need, cached ones where they match.

        Sets `num_cached_tokens` and `num_computed_tokens` to the positions found in the cache; it may be
        computed once `arrived` says so.

        Args:
            reserve: blocks that have to be left over.

        Returns: False, with nothing changed, when there are too few blocks.

        Raises EngineError for a sequence that has some.
        """
        if sequence.block_table:
            raise EngineError(f"{sequence.request_id} already has blocks")
        found = self._match(sequence)
        here = [block for _, block in found if block is not None]
        num_fresh = self.blocks_for(len(sequence)) - len(here)
        num_revived = sum(self._blocks.states[block].ref_count == 0 for block in here)
        if num_fresh + num_revived + reserve > len(self._blocks.free):
            return False
        self._give(sequence, found, num_fresh)
        return True

    def _give(self, sequence: Sequence, found: list[Found], num_fresh: int) -> None:
        for prefix, block in found:
            if block is not None:
                self._blocks.share(block, returns=bool(sequence.kept))
                if len(prefix.tokens) < self.block_size:  # its owner goes on writing there
                    self._blocks.forget(block)
        missing = [prefix for prefix, block in found if block is None]
        if self._host is not None:
            self._host.expect(missing)  # or making room could push out what is about to be brought
        fresh = sorted(self._blocks.take() for _ in range(num_fresh))  # neighbours are copied at once
        incoming, unused = list(zip(missing, fresh, strict=False)), iter(fresh)
        sequence.block_table = [next(unused) if block is None else block for _, block in found]
        sequence.block_table += unused
        positions = sum(len(prefix.tokens) for prefix, _ in found)
        sequence.num_cached_tokens = sequence.num_computed_tokens = positions
        self._count(sequence, missing)
        if self._host is not None and incoming:
            sequence.arrival = Arrival(self._host.bring(incoming, bool(sequence.kept)), incoming)
        if self._host is not None:
            self._host.release(missing, self.block_size)
        self.arrived(sequence)

    def _count(self, sequence: Sequence, missing: list[Prefix]) -> None:
        brought = sum(len(prefix.tokens) for prefix in missing)
        self.figures.host_positions += brought
        self.figures.device_positions += sequence.num_cached_tokens - brought
        self.figures.computed_positions += len(sequence) - sequence.num_cached_tokens

    def arrived(self, sequence: Sequence, wait: bool = False) -> bool:
        """Whether all that `allocate` found for a sequence is on the device; wait: until it is."""
        arrival = sequence.arrival
        if arrival is not None:
            if wait:
                arrival.transfer.wait()
            elif not arrival.transfer.done():
                return False
            sequence.arrival = None
            for prefix, block in arrival.blocks:
                if len(prefix.tokens) == self.block_size:
                    self._blocks.register(block, prefix)
        self._release(sequence)
        return True

    def _release(self, sequence: Sequence) -> None:
        """A sequence expects nothing back any more."""
        if not sequence.kept:
            return
        if self._host is not None:
            self._host.release(sequence.kept, self.block_size)
        sequence.kept = []

    def step_begins(self) -> None:
        """Sends to the host what was forgotten; before anything is computed in these blocks."""
        if self._host is not None:
            self._host.step_begins()

    def covers(self, sequence: Sequence, more: int = 0) -> bool:
        """Whether a sequence has the blocks for all of its tokens, and so many more."""
        return len(sequence.token_ids) + more <= len(sequence.block_table) * self.block_size

    def can_append(self, sequence: Sequence) -> bool:
        """Whether the blocks for all tokens of a running sequence can be had."""
        if self.covers(sequence):
            return True
        return self.blocks_for(len(sequence)) - len(sequence.block_table) <= len(self._blocks.free)

    def append(self, sequence: Sequence) -> None:
        """Extends the block table to cover all tokens, the latest included, whose turn to be computed comes
        now.

        Raises:
            EngineError: out of blocks; ask `can_append` first.
        """
        if self.covers(sequence):
            return
        if not self.can_append(sequence):
            raise EngineError(f"out of KV blocks for {sequence.request_id}")
        while len(sequence.block_table) < self.blocks_for(len(sequence)):
            sequence.block_table.append(self._blocks.take())

    def look_ahead(self, sequence: Sequence) -> None:
        """Gives a sequence the block of its next token before it has one, if a block is free."""
        if self._blocks.free and len(sequence.block_table) < self.blocks_for(len(sequence) + 1):
            sequence.block_table.append(self._blocks.take())

    def commit(self, sequence: Sequence, num_computed_tokens: int) -> None:
        """Records that positions below `num_computed_tokens` are computed; offers full blocks to others."""
        first, end = sequence.num_computed_tokens // self.block_size, num_computed_tokens // self.block_size
        sequence.num_computed_tokens = num_computed_tokens
        if first == end or not self.enable_prefix_caching:
            return
        for number in range(first, end):
            prefix = self._prefix_of(sequence, number)
            index = sequence.block_table[number]
            self._blocks.register(index, prefix)
            self._blocks.states[index].reused |= (number + 1) * self.block_size <= sequence.num_lasting_tokens

    def foresee(self, sequence: Sequence, num_computed_tokens: int) -> None:
        """Hash now what `commit` will ask for: the host has time while the device computes."""
        full = num_computed_tokens // self.block_size
        if full and self.enable_prefix_caching:
            self._prefix_of(sequence, full - 1)

    def free(self, sequence: Sequence, reusable: bool = True, returns: bool = False) -> None:
        """Takes all blocks back; computed contents stay reusable until their block is handed out again.

        Args:
            reusable: False where they may be wrong; what nobody else uses is then forgotten.
            returns: the sequence will go on, and wants to find all that it has computed.
        """
        if sequence.arrival is not None:  # what is on its way is expected still
            sequence.arrival.transfer.abandon()
            sequence.arrival = None
        elif returns and sequence.block_table and self.enable_prefix_caching:
            self._keep(sequence)
        if not returns:
            self._release(sequence)
        # The end of a prefix is of no use without its beginning, so it goes into the queue first.
        self._blocks.give_back(reversed(sequence.block_table), reusable)
        sequence.block_table = []
        sequence.num_computed_tokens = 0

    def _keep(self, sequence: Sequence) -> None:
        """Remembers all that is computed, the part of a block included, as what the sequence expects back."""
        full, rest = divmod(sequence.num_computed_tokens, self.block_size)
        sequence.kept = [self._prefix_of(sequence, number) for number in range(full)]
        if rest:
            parent = sequence.kept[-1] if full else Prefix.root(sequence.salt)
            # By its name nobody else finds it: beyond these tokens it holds what was launched ahead.
            own = Prefix.extend(parent, (sequence.request_id.encode(),))
            tail = Prefix.extend(own, self._tokens_of(sequence, full)[:rest])
            self._blocks.register(sequence.block_table[full], tail)
            sequence.kept.append(tail)
        if self._host is not None:
            self._host.expect(sequence.kept)

    def _match(self, sequence: Sequence) -> list[Found]:
        """The longest cached prefix, the last token excluded; a part of a block for who computed it alone."""
        found: list[Found] = []
        if not self.enable_prefix_caching:
            return found
        for number in range((len(sequence) - 1) // self.block_size):
            place = self._blocks.find(self._prefix_of(sequence, number))
            if place is None:
                break
            found.append(place)
            if place.prefix is not sequence.prefixes[number]:
                # One object for what follows, so that comparing stays short.
                sequence.prefixes[number:] = [place.prefix]
        else:
            full = len(sequence.kept) - 1
            if full == len(found) and len(sequence.kept[full].tokens) < self.block_size:
                tail = self._blocks.find(sequence.kept[full])
                found += [tail] if tail is not None else []
        return self._worthwhile(found)

    def _worthwhile(self, found: list[Found]) -> list[Found]:
        """Without what lies on the host, and all behind it, where computing that is faster."""
        first = next((number for number, place in enumerate(found) if place.block is None), len(found))
        missing = sum(place.block is None for place in found)
        positions = sum(len(place.prefix.tokens) for place in found[first:])
        if self._host is None or not missing or self._host.pays(missing, positions):
            return found
        return found[:first]

    def _prefix_of(self, sequence: Sequence, number: int) -> Prefix:
        """The prefix up to the end of a full block; hashed once, even if the sequence is preempted."""
        known = sequence.prefixes
        while len(known) <= number:
            parent = known[-1] if known else Prefix.root(sequence.salt)
            known.append(Prefix.extend(parent, self._tokens_of(sequence, len(known))))
        return known[number]

    def _tokens_of(self, sequence: Sequence, number: int) -> list[int | bytes]:
        return sequence.token_ids[number * self.block_size : (number + 1) * self.block_size]

    def check_invariants(self, sequences: Iterable[Sequence]) -> None:
        """Checks the whole state against the block tables of all live `sequences`.

        Raises:
            EngineError: names the first rule that does not hold.
        """
        sequences = list(sequences)
        check_blocks(self._blocks.states, self._blocks.free, self._blocks.cached, sequences)
        for sequence in sequences:
            check_sequence(sequence, self._blocks.states, self.block_size)
        if self._host is not None:
            self._host.check_invariants(prefix for sequence in sequences for prefix in sequence.kept)
