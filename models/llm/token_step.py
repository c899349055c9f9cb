"""What a step computes, as plain numbers: positions of sequences through their block tables.

It is all that another rank needs of a step, and travels there as one array:

    step = TokenStep.of(batch)
    TokenStep.unpack(step.pack())            # the same step
"""

from __future__ import annotations

from collections.abc import Sequence as Rows
from dataclasses import dataclass

import numpy as np

from engine.attention import AttentionBatch
from engine.scheduling.batch import ScheduledSequence


@dataclass
class TokenStep:
    """tokens: int64 [T], of all rows in turn. ends: int64 [N], the places in it after which a token is
    drawn.
    """

    batch: AttentionBatch
    tokens: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, batch: Rows[ScheduledSequence]) -> TokenStep:
        starts, counts = [row.start for row in batch], [row.count for row in batch]
        tables = [row.sequence.block_table for row in batch]
        tokens = [row.sequence.token_ids[row.start : row.start + row.count] for row in batch]
        sampling = [i for i, row in enumerate(batch) if row.samples]
        ends = (np.cumsum(counts) - 1)[sampling]
        return cls(AttentionBatch(starts, counts, tables), np.concatenate(tokens).astype(np.int64), ends)

    @property
    def positions(self) -> np.ndarray:
        """Where the tokens stand in their sequences, int64 [T]."""
        rows = zip(self.batch.starts, self.batch.counts, strict=True)
        return np.concatenate([np.arange(start, start + count) for start, count in rows])

    def pack(self) -> np.ndarray:
        """The step as a flat int64 array, to be sent to other ranks."""
        batch = self.batch
        tables = [np.asarray(table, np.int64) for table in batch.block_tables]
        sizes = [len(batch.starts), len(self.ends), *map(len, tables)]
        return np.concatenate(
            [sizes, batch.starts, batch.counts, self.ends, self.tokens, *tables], dtype=np.int64
        )

    @classmethod
    def unpack(cls, packed: np.ndarray) -> TokenStep:
        """The step that `pack` packed."""
        rows, ends = packed[:2].tolist()
        widths = packed[2 : 2 + rows]
        counts = packed[2 + 2 * rows : 2 + 3 * rows]
        sizes = [2, rows, rows, rows, ends, int(counts.sum()), *widths.tolist()]
        *_, starts, counts, last, tokens = (parts := np.split(packed, np.cumsum(sizes)[:-1]))[:6]
        tables = [table.tolist() for table in parts[6:]]
        return cls(AttentionBatch(starts.tolist(), counts.tolist(), tables), tokens, last)
