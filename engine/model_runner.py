"""The device boundary: what a model must offer so that the engine can drive it.

The runner sees plain batches, never queues. A batch mixes prefill chunks with decodes, decodes first; a chunk
that ends before the last token of its sequence computes keys and values only, everything else yields one new
token.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Rows
from dataclasses import dataclass
from typing import Any, Protocol

from engine.kv_cache.host_tier import BlockStore
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence


@dataclass(slots=True)
class StepResult:
    """What one sequence got out of one step.

    Attributes:
        token: the new token, which the engine appends to the sequence; int or bytes.
        stopped: the model ends the sequence with this token.
        finish_reason: why, when `stopped`.
        output: for the caller; the engine passes it through.
    """

    token: int | bytes
    stopped: bool = False
    finish_reason: str | None = None
    output: Any = None


Meanwhile = Callable[[Rows[ScheduledSequence]], object]


class ModelRunner(Protocol):
    """A model on its device, with a paged cache of `num_blocks` blocks of `block_size` positions.

    host_memory: for blocks that are not on the device; None where there is none.
    meanwhile: what the engine has to do for a batch and may do while it is computed. The engine sets it; a
        runner that launches steps calls it before it waits for one, others need not.
    """

    num_blocks: int
    block_size: int
    max_model_len: int
    host_memory: BlockStore | None
    meanwhile: Meanwhile

    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """Computes the scheduled positions through the block tables.

        Returns: one entry per row, None for a chunk that does not sample.

        Raises: anything; the sequences of this batch then fail, and no others, unless `check_device` raises.
        """

    def check_device(self) -> None:
        """Asks the device, after a step that failed, whether it still computes.

        Raises: DeviceLostError when it does not: the engine then ends, with all its sequences.
        """

    def release(self, sequence: Sequence) -> None:
        """Frees what the runner holds for a finished, cancelled or failed sequence; not on preemption."""
