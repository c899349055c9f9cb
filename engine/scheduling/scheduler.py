"""What the next step computes: the decodes first, then as much prefill as the budget allows.

One step of a busy engine, with `max_prefill_tokens=256`: five decoding sequences get one position each, a
sixth computes the last 188 positions of its prompt and so yields a token, and a seventh leaves the queue and
gets the 68 that are left. Nobody overtakes in the queue, and no decode waits for a prompt. Where not all
decodes fit (`engine.scheduling.budget`), those whose listeners are about to run dry go first
(`engine.scheduling.playback`).

When a decode needs a block and none is left, the youngest running sequence gives up its blocks and returns to
the front of the queue. Once it is admitted again, it takes those of its blocks that are still there or lie on
the host, and computes the rest once more. A request that could not even run alone is refused at `add`, so the
oldest sequence always makes progress.

A paused sequence is in no batch. It keeps its blocks until another sequence needs them, to go on or to be
admitted. Paused sequences give way before running ones, the longest paused first. With its blocks a sequence
resumes at once, without them as a preempted one does.

Some blocks of an admitted sequence may still be on their way from the host. It is in no batch until they are
there, and the others do not wait for it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from collections.abc import Sequence as Rows

from engine.config import EngineConfig
from engine.errors import RequestError
from engine.kv_cache.block_manager import BlockManager
from engine.kv_cache.figures import CacheFigures
from engine.kv_cache.host_tier import BlockStore, HostTier
from engine.scheduling.admission import check_admissible
from engine.scheduling.batch import ScheduledSequence, chunk
from engine.scheduling.budget import StepBudget
from engine.scheduling.playback import (
    most_urgent,
    record_arrival,
    record_pause,
    record_resumption,
    record_token,
)
from engine.sequence import Sequence, SequenceStatus


class Scheduler:
    """The queue, the running set, and the rule that moves sequences between them.

    Args:
        clock: seconds, from any origin; it decides which decodes go first when not all fit, and whether
            blocks are brought back from the host.
        host: memory for a second tier of the cache.
    """

    def __init__(
        self,
        config: EngineConfig,
        clock: Callable[[], float] = time.monotonic,
        host: BlockStore | None = None,
    ) -> None:
        self.config = config
        self._clock = clock
        self.budget = StepBudget(config, clock)
        self.figures = CacheFigures(block_bytes=0 if host is None else host.block_bytes)
        tier = None
        if host is not None and config.enable_prefix_caching:
            always, prompts = config.bring_back == "always", self.budget.pace.prompts
            tier = HostTier(host, self.figures, prompts.seconds_for, self._step_seconds, always)
        self.block_manager = BlockManager(
            config.num_blocks, config.block_size, config.enable_prefix_caching, tier, self.figures
        )
        self._waiting: OrderedDict[str, Sequence] = OrderedDict()
        self._running: dict[str, Sequence] = {}
        self._paused: dict[str, Sequence] = {}
        self.num_preemptions = 0

    def _step_seconds(self) -> float:
        return self.budget.pace.decodes.seconds_for(len(self._running))

    @property
    def waiting(self) -> list[Sequence]:
        """Sequences without blocks, next to be admitted first."""
        return list(self._waiting.values())

    @property
    def paused(self) -> list[Sequence]:
        """Sequences that wait for `resume`, with blocks or without, the longest paused first."""
        return list(self._paused.values())

    @property
    def running(self) -> list[Sequence]:
        """Sequences with blocks, longest running first."""
        return list(self._running.values())

    def __contains__(self, request_id: str) -> bool:
        return self.get(request_id) is not None

    def __len__(self) -> int:
        """Sequences that a step may advance: all but the paused ones."""
        return len(self._waiting) + len(self._running)

    def get(self, request_id: str) -> Sequence | None:
        """The unfinished sequence of this name, None when there is none."""
        return self._waiting.get(request_id) or self._running.get(request_id) or self._paused.get(request_id)

    def add(self, sequence: Sequence) -> None:
        """Queues a sequence.

        Raises:
            RequestError: it is empty, asks for no token, is already here, or could not run even alone.
        """
        check_admissible(sequence, self.config)
        if sequence.request_id in self:
            raise RequestError(
                f"request {sequence.request_id!r} is already being served", "request_id", "duplicate"
            )
        record_arrival(sequence, self._clock())
        self._waiting[sequence.request_id] = sequence

    def remove(self, sequence: Sequence, reusable: bool = True) -> None:
        """Takes a sequence out and frees its blocks, see `BlockManager.free`; no-op when it is not here."""
        self._waiting.pop(sequence.request_id, None)
        self._running.pop(sequence.request_id, None)
        self._paused.pop(sequence.request_id, None)
        self.block_manager.free(sequence, reusable)
        sequence.status = SequenceStatus.FINISHED

    def pause(self, sequence: Sequence) -> None:
        """Takes a sequence out of the following steps until `resume`; it keeps what it has computed."""
        if sequence.request_id in self._paused:
            return
        self._waiting.pop(sequence.request_id, None)
        self._running.pop(sequence.request_id, None)
        self._paused[sequence.request_id] = sequence
        sequence.status = SequenceStatus.PAUSED
        record_pause(sequence, self._clock())

    def resume(self, sequence: Sequence) -> None:
        """Lets a paused sequence go on: where it was, or from the front of the queue if it has no blocks."""
        if self._paused.pop(sequence.request_id, None) is None:
            return
        record_resumption(sequence, self._clock())
        if sequence.block_table and len(self._running) < self.config.max_num_seqs:
            self._running[sequence.request_id] = sequence
            sequence.status = SequenceStatus.RUNNING
            return
        self._queue_in_front(sequence)

    def foresee(self, batch: Rows[ScheduledSequence]) -> None:
        """What `commit` has to do for prompts can be done while they are computed."""
        for sequence, start, count in batch:
            if count > 1:
                self.block_manager.foresee(sequence, start + count)

    def commit(self, scheduled: ScheduledSequence) -> None:
        """Records that the scheduled positions have been computed."""
        self.block_manager.commit(scheduled.sequence, scheduled.start + scheduled.count)

    def append(self, sequence: Sequence, token: int | bytes, now: float | None = None) -> None:
        """Adds the token that a step yielded for a sequence. now: by the clock; None asks it."""
        sequence.token_ids.append(token)
        record_token(sequence, self._clock() if now is None else now)

    def schedule(self) -> list[ScheduledSequence]:
        """The batch of the next step; empty only when nothing is waiting or running."""
        batch = self._next_batch()
        if not batch and (arriving := [s for s in self._running.values() if s.arrival is not None]):
            began = self._clock()
            self.block_manager.arrived(arriving[0], wait=True)
            self.figures.stall_seconds += self._clock() - began
            batch = self._next_batch()
        self.block_manager.step_begins()
        return batch

    def _next_batch(self) -> list[ScheduledSequence]:
        batch = list(self._schedule_decodes())
        if self._waiting or len(batch) < len(self._running):
            batch.extend(self._prefills_beside(batch))
        if self.config.look_ahead:
            self._look_ahead(batch)
        return batch

    def _prefills_beside(self, batch: list[ScheduledSequence]) -> Iterator[ScheduledSequence]:
        budget = self.budget.prefill_positions(len(batch), self._running.values(), bool(self._waiting))
        alone = len(self._running) + len(self._waiting) == 1
        return self._schedule_prefills(budget, alone)

    def _look_ahead(self, batch: list[ScheduledSequence]) -> None:
        for scheduled in batch:
            sequence = scheduled.sequence
            if not self.block_manager.covers(sequence, more=1) and scheduled.samples and sequence.goes_on:
                self.block_manager.look_ahead(sequence)

    def _schedule_decodes(self) -> Iterator[ScheduledSequence]:
        decodes = [
            sequence for sequence in self.running
            if sequence.num_uncomputed_tokens == 1 and self.block_manager.arrived(sequence)
        ]  # fmt: skip
        limit, served = self.budget.max_decodes(decodes), set[Sequence]()
        while decodes and len(served) < limit:
            chosen, now = decodes, self._clock()
            if len(decodes) > limit - len(served):
                chosen = most_urgent(decodes, limit - len(served), now)
            for sequence in chosen:
                if not self.block_manager.covers(sequence):
                    if not self._make_room(sequence, served):
                        continue
                    self.block_manager.append(sequence)
                served.add(sequence)
                yield ScheduledSequence(sequence, sequence.num_computed_tokens, 1)
            # Who was chosen and had to give its blocks up leaves its place to the next.
            taken = set(chosen)
            decodes = [
                sequence for sequence in decodes
                if sequence not in taken and sequence.status is SequenceStatus.RUNNING
            ]  # fmt: skip

    def _make_room(self, sequence: Sequence, served: set[Sequence]) -> bool:
        """Preempts from the young end, but nobody in `served`, until `sequence` can go on; False when it went
        itself.
        """
        while sequence.status is SequenceStatus.RUNNING and not self.block_manager.can_append(sequence):
            if not self._reclaim_paused():
                self._preempt(
                    next(other for other in reversed(self._running.values()) if other not in served)
                )
        return sequence.status is SequenceStatus.RUNNING

    def _preempt(self, sequence: Sequence) -> None:
        del self._running[sequence.request_id]
        self._queue_in_front(sequence)
        self.num_preemptions += 1

    def _queue_in_front(self, sequence: Sequence) -> None:
        """Without blocks, since waiting sequences have none."""
        self.block_manager.free(sequence, returns=True)
        sequence.status = SequenceStatus.WAITING
        self._waiting[sequence.request_id] = sequence
        self._waiting.move_to_end(sequence.request_id, last=False)

    def _reclaim_paused(self) -> bool:
        """Takes the blocks of the sequence that has been paused longest; False when none has any."""
        holder = next((sequence for sequence in self._paused.values() if sequence.block_table), None)
        if holder is None:
            return False
        self.block_manager.free(holder, returns=True)
        self.num_preemptions += 1
        return True

    def _schedule_prefills(self, budget: int, alone: bool) -> Iterator[ScheduledSequence]:
        for sequence in self.running:
            if budget and sequence.num_uncomputed_tokens > 1 and self.block_manager.arrived(sequence):
                scheduled = chunk(sequence, budget, alone)
                budget -= scheduled.count
                yield scheduled
        while budget and (sequence := self._admit()) is not None:
            if sequence.arrival is not None:
                continue
            scheduled = chunk(sequence, budget, alone)
            budget -= scheduled.count
            yield scheduled

    def _admit(self) -> Sequence | None:
        """Moves the head of the queue to the running set, if there is a place and room for all its tokens."""
        if not self._waiting or len(self._running) >= self.config.max_num_seqs:
            return None
        sequence = next(iter(self._waiting.values()))
        # One block for each that runs, or the newcomer would be preempted as soon as one of them grows.
        while not self.block_manager.allocate(sequence, reserve=len(self._running)):
            if not self._reclaim_paused():
                return None
        del self._waiting[sequence.request_id]
        self._running[sequence.request_id] = sequence
        sequence.status = SequenceStatus.RUNNING
        return sequence
