"""Scheduler under random traffic, each step checked against the policy written as plain conditions."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.config import EngineConfig
from engine.errors import RequestError
from engine.scheduling.batch import ScheduledSequence
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence, SequenceStatus
from tests.engine.scheduling.sequences import names


class SchedulerAgainstRules(RuleBasedStateMachine):
    """A small engine whose limits are drawn too."""

    @initialize(
        num_blocks=st.integers(3, 12),
        max_num_seqs=st.integers(1, 5),
        spare_tokens=st.integers(0, 12),
        max_prefill_tokens=st.integers(1, 10),
        caching=st.booleans(),
    )
    def start(
        self, num_blocks: int, max_num_seqs: int, spare_tokens: int, max_prefill_tokens: int, caching: bool
    ) -> None:
        self.config = EngineConfig(
            num_blocks=num_blocks,
            block_size=2,
            max_model_len=16,
            max_num_seqs=max_num_seqs,
            max_num_batched_tokens=max_num_seqs + spare_tokens,
            max_prefill_tokens=max_prefill_tokens,
            enable_prefix_caching=caching,
        )
        self.scheduler = Scheduler(self.config)
        self.sequences: dict[str, Sequence] = {}
        self.arrivals: list[str] = []
        self.count = 0

    @rule(prompt=st.lists(st.integers(0, 1), min_size=1, max_size=10), max_new_tokens=st.integers(1, 8))
    def add(self, prompt: list[int], max_new_tokens: int) -> None:
        self.count += 1
        sequence = Sequence(f"s{self.count}", prompt, max_new_tokens)
        needed = len(prompt) + max_new_tokens - 1
        fits = needed <= min(16, self.config.num_blocks * 2)
        try:
            self.scheduler.add(sequence)
        except RequestError:
            assert not fits
            return
        assert fits
        self.sequences[sequence.request_id] = sequence
        self.arrivals.append(sequence.request_id)

    @precondition(lambda self: self.sequences)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.drop(self.sequences[data.draw(st.sampled_from(sorted(self.sequences)))])

    @rule()
    def step(self) -> None:
        decoding = [s for s in self.scheduler.running if s.num_uncomputed_tokens == 1]
        batch = self.scheduler.schedule()
        assert bool(batch) == bool(self.sequences)
        self.check_batch(batch, decoding)
        self.check_tables(batch)
        for row in batch:
            samples = row.samples
            self.scheduler.commit(row)
            if samples:
                row.sequence.token_ids.append(len(row.sequence) % 2)
                if row.sequence.num_new_tokens == row.sequence.max_new_tokens:
                    self.drop(row.sequence)

    def check_batch(self, batch: list[ScheduledSequence], decoding: list[Sequence]) -> None:
        rows = {row.sequence.request_id: row for row in batch}
        assert len(rows) == len(batch)
        served = [s for s in decoding if s.status is SequenceStatus.RUNNING]
        assert [row.sequence for row in batch[: len(served)]] == served
        prefill = batch[len(served) :]
        assert sum(row.count for row in batch) <= self.config.max_num_batched_tokens
        assert not served or sum(row.count for row in prefill) <= self.config.max_prefill_tokens
        for row in batch:
            assert row.count >= 1
            assert row.start == row.sequence.num_computed_tokens
            assert row.start + row.count <= len(row.sequence)
        assert not any(row.count < row.sequence.num_uncomputed_tokens for row in prefill[:-1])

    def check_tables(self, batch: list[ScheduledSequence]) -> None:
        for row in batch:
            assert len(row.sequence.block_table) * 2 >= len(row.sequence)
        assert len(self.scheduler.running) <= self.config.max_num_seqs
        in_queue = [self.arrivals.index(name) for name in names(self.scheduler.waiting)]
        never_ran = [i for i in in_queue if self.sequences[self.arrivals[i]].num_new_tokens == 0]
        assert never_ran == sorted(never_ran)

    def drop(self, sequence: Sequence) -> None:
        self.scheduler.remove(sequence)
        self.scheduler.remove(sequence)
        del self.sequences[sequence.request_id]

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        self.scheduler.block_manager.check_invariants(self.sequences.values())
        known = names(self.scheduler.waiting) + names(self.scheduler.running)
        assert sorted(known) == sorted(self.sequences)
        for sequence in self.scheduler.waiting:
            assert sequence.block_table == []

    def teardown(self) -> None:
        """Whatever state it is in, all of it finishes."""
        if not hasattr(self, "scheduler"):
            return
        for _ in range(2000):
            if not self.sequences:
                assert self.scheduler.block_manager.num_free_blocks == self.config.num_blocks
                return
            self.step()
            self.holds()
        raise AssertionError("no progress")


TestSchedulerAgainstRules = SchedulerAgainstRules.TestCase
TestSchedulerAgainstRules.settings = settings(stateful_step_count=40)
