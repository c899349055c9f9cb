"""What the engines of all model families have in common: requests of the family around one `LLMEngine`."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import Generic, TypeVar

import torch

from engine.cpu.threads import StepThreads
from engine.kv_cache.figures import CacheFigures
from engine.llm_engine import LLMEngine, SequenceOutput
from engine.sequence import Sequence

logger = logging.getLogger(__name__)

Request = TypeVar("Request")
Output = TypeVar("Output")


class ModelEngine(ABC, Generic[Request, Output]):
    """An `engine.loop.SteppingEngine`. A family makes sequences of requests, and outputs of results.

    step_threads: of a CPU; None on other devices, where PyTorch's own number stays.
    """

    def __init__(self, llm: LLMEngine, step_threads: StepThreads | None) -> None:
        self._llm, self.step_threads = llm, step_threads

    @abstractmethod
    def prepare(self, request: Request) -> Sequence:
        """The request as a sequence. Raises RequestError, naming the field, for one that can't be served."""

    @abstractmethod
    def _output(self, output: SequenceOutput) -> Output:
        """What a step did for a sequence, in the words of the family."""

    @property
    def cache_figures(self) -> CacheFigures:
        """What the KV cache was good for; any thread may read."""
        return self._llm.cache_figures

    def add(self, prepared: Sequence) -> None:
        self._llm.add(prepared)

    def add_request(self, request: Request) -> None:
        self.add(self.prepare(request))

    def cancel(self, request_id: str) -> bool:
        return self._llm.cancel(request_id)

    def pause(self, request_id: str) -> bool:
        return self._llm.pause(request_id)

    def resume(self, request_id: str) -> bool:
        return self._llm.resume(request_id)

    def has_unfinished(self) -> bool:
        return self._llm.has_unfinished()

    def step(self) -> list[Output]:
        """Advance every running request by at most one result of the model."""
        with self.step_threads.step() if self.step_threads else nullcontext():
            return [self._told(output) for output in self._llm.step()]

    def _told(self, output: SequenceOutput) -> Output:
        """A request whose output cannot be made ends with an error; the others go on."""
        try:
            return self._output(output)
        except Exception as error:
            request_id = output.sequence.request_id
            logger.exception("making the output of request %s failed", request_id)
            self._llm.cancel(request_id)
            return self._output(SequenceOutput.failed(output.sequence, error))

    def close(self) -> None:
        """Ends the thread beside that of the steps; tensors free themselves."""
        if self.step_threads:
            self.step_threads.close()


def threads_on(device: torch.device, limit: int | None, *, beside: bool) -> StepThreads | None:
    """The threads of steps on `device`, see `StepThreads`; None where steps don't run on a CPU."""
    return StepThreads(limit, beside=beside) if device.type == "cpu" else None
