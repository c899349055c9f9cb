"""What the runners of rank 0 have in common: what they compute, all ranks compute, each its part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Rows
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from engine.model_runner import StepResult
from engine.parallel.part import Part
from engine.parallel.ranks import Ranks
from engine.scheduling.batch import ScheduledSequence

if TYPE_CHECKING:
    from engine.device.cuda_graphs import GraphRecorder

Built = TypeVar("Built")


class Leading:
    """A base class in front of an `engine.model_runner.ModelRunner`: a step that fails, or a rank that is
    lost, ends the engine.
    """

    def lead(self, ranks: Ranks, part: Part, device: torch.device) -> None:
        """To be called before anything is computed. part: this rank's."""
        self._ranks, self._group, self._own_device = ranks, part.group, device

    def run(self, batch: Rows[ScheduledSequence]) -> list[StepResult | None]:
        """See `engine.model_runner.ModelRunner.run`."""
        results = super().run(batch)
        self._ranks.check()  # sums that were broken off give numbers, too
        return results

    def check_device(self) -> None:
        """See `engine.model_runner.ModelRunner.check_device`."""
        self._ranks.check()
        super().check_device()

    def build_along(self, told: dict[str, Any], build: Callable[[], Built]) -> Built:
        """What `build` makes, while the others make theirs of what they are told. Raises what it raises."""
        self._ranks.tell(told)
        try:
            built = build()
        except RuntimeError:
            self._ranks.check()  # another rank may be the reason
            raise
        self._ranks.answers()
        return built

    def end(self, recorders: Iterable[GraphRecorder]) -> None:
        """End the other ranks, and what this one has with them. recorders: of steps with sums in them."""
        self._ranks.close()
        self._group.abort()  # a step that another rank has not computed to its end
        with suppress(RuntimeError):  # a device that is lost has nothing to wait for
            if self._own_device.type == "cuda":
                torch.cuda.synchronize(self._own_device)
            for recorder in recorders:
                recorder.forget()
        self._group.close()
