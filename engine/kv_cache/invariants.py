"""Rules about blocks and block tables that hold between any two calls of the block manager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

from engine.errors import require
from engine.kv_cache.blocks import Block
from engine.kv_cache.prefix import Prefix
from engine.sequence import Sequence


def check_blocks(
    blocks: list[Block],
    free: Collection[int],
    cached: Mapping[bytes, Collection[int]],
    sequences: list[Sequence],
) -> None:
    """Checks who uses which block, and which are found. Raises EngineError: the first rule that is broken."""
    named = Counter(index for sequence in sequences for index in sequence.block_table)
    for index, block in enumerate(blocks):
        require(
            block.ref_count == named[index],
            f"block {index}: {block.ref_count} references, {named[index]} tables",
        )
        require((block.ref_count == 0) == (index in free), f"block {index} is free and used, or neither")
        if block.prefix is not None:
            registered = index in cached.get(block.prefix.digest, ())
            require(registered, f"block {index}: hash is not registered")
    require(set(named) <= set(range(len(blocks))), "a table names a block that does not exist")
    for digest, holders in cached.items():
        require(bool(holders), "a hash without a block")
        for index in holders:
            prefix = blocks[index].prefix
            require(
                prefix is not None and prefix.digest == digest,
                f"block {index} is registered under another hash",
            )


def check_sequence(sequence: Sequence, blocks: list[Block], block_size: int) -> None:
    """Checks one block table. Raises EngineError: the first rule that is broken."""
    table, name = sequence.block_table, sequence.request_id
    require(len(set(table)) == len(table), f"{name} names a block twice")
    require((len(table) - 1) * block_size < len(sequence) + 1, f"{name} has blocks without tokens")
    computed = sequence.num_computed_tokens
    require(computed <= len(table) * block_size, f"{name}: computed positions without a block")
    require(not (table and sequence.kept and sequence.arrival is None), f"{name} expects what it has")
    prefix = Prefix.root(sequence.salt)
    for number, index in enumerate(table):
        held = blocks[index].prefix
        full = (number + 1) * block_size <= computed
        require(full or held is None, f"{name}: block {number} is hashed before it is full and computed")
        if held is not None:
            tokens = sequence.token_ids[number * block_size : (number + 1) * block_size]
            prefix = Prefix.extend(prefix, tokens)
            require(held.same_as(prefix), f"{name}: block {number} is hashed as something else")
