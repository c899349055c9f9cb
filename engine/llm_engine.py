"""The engine: sequences in, one output per sequence and step out.

    engine.add(Sequence("a", [1, 2, 3], max_new_tokens=10))
    while engine.has_unfinished():
        for output in engine.step(): ...

It has no thread of its own and is not thread-safe; `engine.loop.EngineLoop` is. A step whose runner raises
fails the sequences of that batch, and the engine goes on with the others. If the device is lost, `step`
raises DeviceLostError instead: nothing could succeed here any more, and all streams have to go on elsewhere.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from engine.config import EngineConfig
from engine.errors import EngineError
from engine.kv_cache.figures import CacheFigures
from engine.model_runner import ModelRunner, StepResult
from engine.scheduling.batch import ScheduledSequence
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class SequenceOutput:
    """What one step did for one sequence.

    Attributes:
        result: the new token and the model's output; None when the sequence failed.
        finish_reason: None while it goes on; "length" at `max_new_tokens`, "error" when it failed, else what
            the model said.
        error: why it failed.
    """

    sequence: Sequence
    result: StepResult | None = None
    finish_reason: str | None = None
    error: str | None = None

    @classmethod
    def failed(cls, sequence: Sequence, error: Exception) -> SequenceOutput:
        return cls(sequence, None, "error", f"{type(error).__name__}: {error}")


class LLMEngine:
    """Continuous batching over one runner.

    Args:
        clock: seconds, from any origin; see `Scheduler`.

    Raises:
        EngineError: `config` asks for more than the runner has.
    """

    def __init__(
        self, runner: ModelRunner, config: EngineConfig, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if config.block_size != runner.block_size:
            raise EngineError(f"block_size is {config.block_size}, the runner's {runner.block_size}")
        for limit in ("num_blocks", "max_model_len"):
            if getattr(config, limit) > getattr(runner, limit):
                raise EngineError(
                    f"{limit} is {getattr(config, limit)}, the runner has {getattr(runner, limit)}"
                )
        self.runner = runner
        self.config = config
        self.scheduler = Scheduler(config, clock, runner.host_memory)
        runner.meanwhile = self.scheduler.foresee
        self._clock = clock
        self.step_count = 0

    @property
    def cache_figures(self) -> CacheFigures:
        """What the KV cache was good for; any thread may read."""
        return self.scheduler.figures

    def add(self, sequence: Sequence) -> None:
        """Queues a sequence for the next step.

        Raises:
            RequestError: it can never be served; see `Scheduler.add`.
        """
        self.scheduler.add(sequence)

    def cancel(self, request_id: str) -> bool:
        """Drops an unfinished sequence and frees what it holds; False when there is none of this name."""
        sequence = self.scheduler.get(request_id)
        if sequence is None:
            return False
        self._finish(sequence, "cancelled")
        return True

    def pause(self, request_id: str) -> bool:
        """Keeps an unfinished sequence out of the following steps; False when there is none of this name.

        Once resumed it yields what it would have yielded anyway. Pausing twice is a no-op.
        """
        sequence = self.scheduler.get(request_id)
        if sequence is not None:
            self.scheduler.pause(sequence)
        return sequence is not None

    def resume(self, request_id: str) -> bool:
        """Undoes `pause`; False when there is no sequence of this name."""
        sequence = self.scheduler.get(request_id)
        if sequence is not None:
            self.scheduler.resume(sequence)
        return sequence is not None

    def computing_seconds(self, sequence: Sequence) -> float | None:
        """Since the first step of a sequence began; None before."""
        return None if sequence.prefill_at is None else self._clock() - sequence.prefill_at

    def has_unfinished(self) -> bool:
        """Whether `step` has anything to do; paused sequences are nothing to do."""
        return len(self.scheduler) > 0

    def step(self) -> list[SequenceOutput]:
        """Computes one batch; one output per sequence that got a token or failed.

        Raises:
            DeviceLostError: the device computes no more; the engine is of no use from then on.
        """
        batch = self.scheduler.schedule()
        if not batch:
            return []
        self.step_count += 1
        began = self._clock()
        for scheduled in batch:
            if scheduled.sequence.prefill_at is None:
                scheduled.sequence.prefill_at = began
        try:
            results = self.runner.run(batch)
            _check_results(batch, results)
        except Exception as error:
            logger.exception("step %d failed with %d sequences", self.step_count, len(batch))
            self.runner.check_device()
            return [self._fail(scheduled.sequence, error) for scheduled in batch]
        now = self._clock()
        self.scheduler.budget.observe(batch, now - began)
        outputs = []
        for scheduled, result in zip(batch, results, strict=True):
            self.scheduler.commit(scheduled)
            if result is not None:
                outputs.append(self._advance(scheduled.sequence, result, now))
        return outputs

    def _advance(self, sequence: Sequence, result: StepResult, now: float) -> SequenceOutput:
        self.scheduler.append(sequence, result.token, now)
        reason = None
        if result.stopped:
            reason = result.finish_reason or "stop"
        elif sequence.num_new_tokens >= sequence.max_new_tokens:
            reason = "length"
        if reason is not None:
            self._finish(sequence, reason)
        return SequenceOutput(sequence, result, reason)

    def _fail(self, sequence: Sequence, error: Exception) -> SequenceOutput:
        self._finish(sequence, "error")
        return SequenceOutput.failed(sequence, error)

    def _finish(self, sequence: Sequence, reason: str) -> None:
        self.scheduler.remove(sequence, reusable=reason != "error")
        sequence.stopped = True
        sequence.finish_reason = reason
        try:
            self.runner.release(sequence)
        except Exception:
            logger.exception("releasing %s failed", sequence.request_id)


def _check_results(batch: list[ScheduledSequence], results: list[StepResult | None]) -> None:
    if [result is not None for result in results] != [scheduled.samples for scheduled in batch]:
        raise EngineError("the runner returned results for other rows than those that sample")
    for kind in {type(result.token) for result in results if result is not None}:
        if not issubclass(kind, int | bytes):
            raise EngineError(f"the runner returned a token of type {kind.__name__}")
