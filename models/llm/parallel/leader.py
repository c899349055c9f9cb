"""Rank 0's runner: what it computes, all ranks compute, each its part."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from engine.device.cuda_graphs import Compute
from engine.parallel.leading import Leading
from engine.parallel.part import Part
from engine.parallel.ranks import Ranks
from engine.scheduling.batch import ScheduledSequence
from models.llm.parallel.draw import GATHERS, draw, ways_of
from models.llm.parallel.rank import ENDS, PROGRAMS, STEP
from models.llm.runner import Report, TextRunner
from models.llm.sampler import Answer, Sampled, sample
from models.llm.token_step import TokenStep

if TYPE_CHECKING:
    from models.llm.programs.step_programs import Lead, Program, StepPrograms
    from models.llm.programs.tables import Tables


class LeadingRunner(Leading, TextRunner):
    """`TextRunner` of several ranks."""

    def __init__(self, ranks: Ranks, *args: Any, part: Part, **kwargs: Any) -> None:
        super().__init__(*args, part=part, **kwargs)
        self.lead(ranks, part, self._device)

    def close(self) -> None:
        """End the other ranks, and what this one has with them."""
        self._programs = None
        self.end([] if self._recorder is None else [self._recorder])

    def build(
        self, max_num_seqs: int, record: bool, report: Report = lambda share: None, lead: Lead | None = None
    ) -> tuple[StepPrograms, Tables]:
        """See `TextRunner.build`."""
        told = {"max_num_seqs": max_num_seqs, "record": record}
        own = partial(super().build, max_num_seqs, record, report, lead or self._lead)
        return self.build_along(told, own)

    def _lead(self, number: int, program: Program, launch: Compute) -> Compute:
        def launch_everywhere() -> None:
            with self._ranks.step(PROGRAMS + number, *program.sent()):
                launch()

        return launch_everywhere

    def _ends(self, batch: Rows[ScheduledSequence]) -> Tensor:
        if self._group.muted:
            return super()._ends(batch)
        step = TokenStep.of(batch)
        with self._ranks.step(ENDS, step.pack(), b""):
            return self.at_ends(step)

    def _draw(self, step: TokenStep, answers: Rows[Answer]) -> list[Sampled]:
        ways = ways_of(answers)
        with self._ranks.step(STEP, step.pack(), ways):
            tokens, gathered = draw(self.logits(step), ways, self._group)
            drawn = iter(tokens.tolist())
        whole = np.flatnonzero(ways[:, GATHERS])
        told = iter([] if gathered is None else sample(gathered, [answers[i] for i in whole]))
        return [next(told) if gathers else Sampled(next(drawn)) for gathers in ways[:, GATHERS]]
