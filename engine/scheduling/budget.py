"""How much a step may hold: how many decodes, and how many positions of prompts beside them.

Prompts get `max_prefill_tokens` positions, or more with many decodes, so that running streams keep their
pace. While all streams are ahead of their listeners, a step takes more of the prompts. It then uses up at
most half of the shortest lead, and at most a quarter of a second. Where every answer is read only once it is
complete, a step takes as many positions as fit: the more run together, the fewer steps there are.

A decode waits only where more of them run than a step may hold (`max_decodes`, `max_step_seconds`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Sequence as Rows

from engine.config import EngineConfig
from engine.scheduling.batch import ScheduledSequence
from engine.scheduling.playback import lead_seconds
from engine.scheduling.step_time import StepPace
from engine.sequence import Sequence

LEAD_SHARE, MOST_SECONDS = 0.5, 0.25
"""A step that computes prompts takes at most this share of the shortest lead, and at most so many seconds.
The latter because whoever cancels waits for the step that is under way."""


class StepBudget:
    """The limits of the configuration, and the pace of the steps that were run."""

    def __init__(self, config: EngineConfig, clock: Callable[[], float]) -> None:
        self.config = config
        self.pace = StepPace()
        self._clock = clock

    def observe(self, batch: Rows[ScheduledSequence], seconds: float) -> None:
        """Learns from the time a step took how much fits into one.

        Patches that are computed again one by one teach nothing: each takes a part of a decode.
        """
        if any(count == 1 and start + 1 != len(sequence.token_ids) for sequence, start, count in batch):
            return
        counts = [count for _, _, count in batch]
        decodes = counts.count(1)
        self.pace.observe(decodes, sum(counts) - decodes, seconds)

    def prefill_positions(self, decodes: int, running: Collection[Sequence], waiting: bool) -> int:
        """Positions of prompts that the next step may hold beside so many decodes.

        running: who has blocks. waiting: whether somebody is in the queue.
        """
        budget = self.config.max_num_batched_tokens - decodes
        if not decodes:
            return budget
        share = self.config.prefill_tokens_per_decode * decodes
        affordable = self._affordable(decodes, running, waiting)
        return min(budget, max(self.config.max_prefill_tokens, share, affordable))

    def _affordable(self, decodes: int, running: Collection[Sequence], waiting: bool) -> int:
        """Positions of prompts, beside so many decodes, that leave every listener half of its lead; where
        there are none, as many as a step may hold."""
        playing = [sequence for sequence in running if sequence.num_uncomputed_tokens == 1]
        if all(sequence.read_whole for sequence in playing):
            return self.config.max_num_batched_tokens
        nothing_to_do = len(playing) == len(running) and not waiting
        if nothing_to_do or not all(sequence.token_seconds for sequence in playing):
            return 0
        now = self._clock()
        lead = min((lead_seconds(sequence, now) for sequence in playing), default=0.0)
        return self.pace.positions_within(min(LEAD_SHARE * lead, MOST_SECONDS), decodes)

    def max_decodes(self, decodes: list[Sequence]) -> int:
        """How many of these the next step may hold."""
        limit = len(decodes)
        budget = self.config.max_step_seconds
        rows = None if budget is None else self.pace.decodes.rows_within(budget)
        if rows is not None and rows < limit:
            # Who waits now gets its token with the next step at the earliest.
            now, horizon = self._clock(), 2 * budget
            limit = max(rows, sum(lead_seconds(sequence, now) < horizon for sequence in decodes))
        return limit if self.config.max_decodes is None else min(limit, self.config.max_decodes)
