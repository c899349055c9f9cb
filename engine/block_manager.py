"""Who owns which block of the KV cache, and which computed blocks can be shared.

Blocks are reference counted. A full block whose keys and values have been computed is remembered under a
chained hash of everything from the salt to its last token; a later sequence with the same beginning takes it
instead of computing it again, also after its owner has gone, until the block is needed for something else.
With block size 4 and the prompts

    A = [1 2 3 4][5 6 7 8][9]        B = [1 2 3 4][5 6 7 8][9 9]

B takes A's first two blocks and computes two positions. The last token is never taken from the cache, since
computing it is what yields the next token: for [1 2 3 4][5 6 7 8] only the first block is.

A hash is only the way to find a candidate. What decides is equality of the tokens along the whole chain, so a
collision costs a comparison and never returns another prompt's keys and values.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import xxhash

from engine.errors import EngineError
from engine.sequence import Sequence


@dataclass(frozen=True, slots=True, eq=False)
class Prefix:
    """All tokens up to the end of one full block, as a chain; the root stands for the salt."""

    parent: Prefix | None
    tokens: tuple[int | bytes, ...]
    digest: bytes

    @classmethod
    def extend(cls, parent: Prefix | None, tokens: Iterable[int | bytes]) -> Prefix:
        """The prefix that continues `parent` with one block of `tokens`."""
        tokens = tuple(tokens)
        return cls(parent, tokens, digest_of(b"" if parent is None else parent.digest, tokens))

    def same_as(self, other: Prefix) -> bool:
        """Whether both stand for the same salt and tokens, compared from the end up to a shared ancestor."""
        mine: Prefix | None = self
        theirs: Prefix | None = other
        while mine is not theirs:
            if mine is None or theirs is None or mine.tokens != theirs.tokens:
                return False
            mine, theirs = mine.parent, theirs.parent
        return True


def digest_of(parent: bytes, tokens: tuple[int | bytes, ...]) -> bytes:
    """128-bit hash of one block after `parent`; the encoding keeps 12, [1, 2] and b"12" apart."""
    try:
        encoded = b"q" + array("q", tokens).tobytes()
    except (TypeError, OverflowError):  # there are bytes among them
        parts = [b"b%d:%b" % (len(t), t) if isinstance(t, bytes) else b"i%d;" % t for t in tokens]
        encoded = b"".join(parts)
    return xxhash.xxh3_128_digest(parent + encoded)


@dataclass(slots=True)
class Block:
    """`ref_count` block tables name this block; `prefix` is set once it is full and computed."""

    ref_count: int = 0
    prefix: Prefix | None = None


class BlockManager:
    """Hands out blocks to sequences and shares the computed ones.

    Args:
        num_blocks: blocks of the cache, numbered from 0.
        block_size: positions per block.
        enable_prefix_caching: False never shares.
    """

    def __init__(self, num_blocks: int, block_size: int, enable_prefix_caching: bool = True) -> None:
        self.num_blocks = num_blocks
        self.block_size = block_size
        self.enable_prefix_caching = enable_prefix_caching
        self._blocks = [Block() for _ in range(num_blocks)]
        # Taken from the front: never cached or no longer valid first, then the least recently freed.
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(num_blocks))
        # Several blocks can hold the same prefix, when equal prompts were computed side by side.
        self._cached: dict[bytes, dict[int, None]] = {}

    @property
    def num_free_blocks(self) -> int:
        """Blocks that no sequence uses, those with reusable contents included."""
        return len(self._free)

    def blocks_for(self, num_tokens: int) -> int:
        """Blocks that `num_tokens` positions need."""
        return -(-num_tokens // self.block_size)

    def allocate(self, sequence: Sequence, reserve: int = 0) -> bool:
        """Gives a sequence without blocks all those its tokens need, cached ones where they match.

        Sets `num_cached_tokens` and `num_computed_tokens` to the positions found in the cache.

        Args:
            reserve: blocks that have to be left over.

        Returns: False, with nothing changed, when there are too few blocks.
        """
        if sequence.block_table:
            raise EngineError(f"{sequence.request_id} already has blocks")
        matched = self._match(sequence)
        num_fresh = self.blocks_for(len(sequence)) - len(matched)
        num_revived = sum(self._blocks[index].ref_count == 0 for index in matched)
        if num_fresh + num_revived + reserve > len(self._free):
            return False
        for index in matched:
            self._free.pop(index, None)
            self._blocks[index].ref_count += 1
        sequence.block_table = matched + [self._take() for _ in range(num_fresh)]
        sequence.num_cached_tokens = sequence.num_computed_tokens = len(matched) * self.block_size
        return True

    def covers(self, sequence: Sequence, more: int = 0) -> bool:
        """Whether a sequence has the blocks for all of its tokens, and so many more."""
        return len(sequence.token_ids) + more <= len(sequence.block_table) * self.block_size

    def can_append(self, sequence: Sequence) -> bool:
        """Whether the blocks for all tokens of a running sequence can be had."""
        if self.covers(sequence):
            return True
        return self.blocks_for(len(sequence)) - len(sequence.block_table) <= len(self._free)

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
            sequence.block_table.append(self._take())

    def look_ahead(self, sequence: Sequence) -> None:
        """Gives a sequence the block of its next token before it has one, if a block is free."""
        if self._free and len(sequence.block_table) < self.blocks_for(len(sequence) + 1):
            sequence.block_table.append(self._take())

    def commit(self, sequence: Sequence, num_computed_tokens: int) -> None:
        """Records that positions below `num_computed_tokens` are computed; offers full blocks to others."""
        first, end = sequence.num_computed_tokens // self.block_size, num_computed_tokens // self.block_size
        sequence.num_computed_tokens = num_computed_tokens
        if first == end or not self.enable_prefix_caching:
            return
        for number in range(first, end):
            prefix = self._prefix_of(sequence, number)
            index = sequence.block_table[number]
            self._blocks[index].prefix = prefix
            self._cached.setdefault(prefix.digest, {})[index] = None

    def free(self, sequence: Sequence, reusable: bool = True) -> None:
        """Takes all blocks back; computed contents stay reusable until their block is handed out again.

        Args:
            reusable: False where they may be wrong; what nobody else uses is then forgotten.
        """
        # The end of a prefix is of no use without its beginning, so it goes into the queue first.
        for index in reversed(sequence.block_table):
            block = self._blocks[index]
            block.ref_count -= 1
            if block.ref_count == 0:
                if not reusable:
                    self._forget(index)
                self._free[index] = None
                self._free.move_to_end(index, last=block.prefix is not None)
        sequence.block_table = []
        sequence.num_computed_tokens = 0

    def _take(self) -> int:
        index, _ = self._free.popitem(last=False)
        self._forget(index)
        self._blocks[index].ref_count = 1
        return index

    def _forget(self, index: int) -> None:
        """What the block holds is found by nobody any more."""
        block = self._blocks[index]
        if block.prefix is not None:
            holders = self._cached[block.prefix.digest]
            del holders[index]
            if not holders:
                del self._cached[block.prefix.digest]
            block.prefix = None

    def _match(self, sequence: Sequence) -> list[int]:
        """Blocks that hold the longest cached prefix, the last token excluded."""
        matched: list[int] = []
        if not self.enable_prefix_caching:
            return matched
        for number in range((len(sequence) - 1) // self.block_size):
            prefix = self._prefix_of(sequence, number)
            holders = self._cached.get(prefix.digest, ())
            found = next((index for index in holders if self._holds(index, prefix)), None)
            if found is None:
                break
            matched.append(found)
            held = self._blocks[found].prefix
            if held is not prefix:  # one object for what follows, so that comparing stays short
                sequence.prefixes[number:] = [held]
        return matched

    def _prefix_of(self, sequence: Sequence, number: int) -> Prefix:
        """Of a full block; hashed once, however often a sequence waits or is preempted."""
        known = sequence.prefixes
        while len(known) <= number:
            parent = known[-1] if known else _root(sequence)
            known.append(Prefix.extend(parent, self._tokens_of(sequence, len(known))))
        return known[number]

    def _holds(self, index: int, prefix: Prefix) -> bool:
        held = self._blocks[index].prefix
        return held is not None and held.same_as(prefix)

    def _tokens_of(self, sequence: Sequence, number: int) -> list[int | bytes]:
        return sequence.token_ids[number * self.block_size : (number + 1) * self.block_size]

    def check_invariants(self, sequences: Iterable[Sequence]) -> None:
        """Checks the whole state against the block tables of all live `sequences`.

        Raises:
            EngineError: names the first rule that does not hold.
        """
        sequences = list(sequences)
        named = Counter(index for sequence in sequences for index in sequence.block_table)
        for index, block in enumerate(self._blocks):
            _require(
                block.ref_count == named[index],
                f"block {index}: {block.ref_count} references, {named[index]} tables",
            )
            _require(
                (block.ref_count == 0) == (index in self._free), f"block {index} is free and used, or neither"
            )
            if block.prefix is not None:
                _require(
                    index in self._cached.get(block.prefix.digest, ()),
                    f"block {index}: hash is not registered",
                )
        _require(set(named) <= set(range(self.num_blocks)), "a table names a block that does not exist")
        for digest, holders in self._cached.items():
            _require(bool(holders), "a hash without a block")
            for index in holders:
                prefix = self._blocks[index].prefix
                _require(
                    prefix is not None and prefix.digest == digest,
                    f"block {index} is registered under another hash",
                )
        for sequence in sequences:
            self._check_sequence(sequence)

    def _check_sequence(self, sequence: Sequence) -> None:
        table, name = sequence.block_table, sequence.request_id
        _require(len(set(table)) == len(table), f"{name} names a block twice")
        _require(len(table) <= self.blocks_for(len(sequence) + 1), f"{name} has blocks without tokens")
        _require(
            self.blocks_for(sequence.num_computed_tokens) <= len(table),
            f"{name}: computed positions without a block",
        )
        prefix = _root(sequence)
        for number, index in enumerate(table):
            held = self._blocks[index].prefix
            full = (number + 1) * self.block_size <= sequence.num_computed_tokens
            _require(full or held is None, f"{name}: block {number} is hashed before it is full and computed")
            if held is not None:
                prefix = Prefix.extend(prefix, self._tokens_of(sequence, number))
                _require(held.same_as(prefix), f"{name}: block {number} is hashed as something else")


def _root(sequence: Sequence) -> Prefix:
    return Prefix.extend(None, (sequence.salt,))


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise EngineError(f"KV block invariant broken: {rule}")
