"""Rank 0's runner: what it computes, all ranks compute, each its part."""

from __future__ import annotations

from collections.abc import Sequence as Rows
from typing import Any

import numpy as np

from engine.parallel.part import Part
from engine.parallel.ranks import Ranks
from models.llm.parallel.draw import GATHERS, draw, ways_of
from models.llm.parallel.rank import STEP
from models.llm.runner import TextRunner
from models.llm.sampler import Answer, Sampled, sample
from models.llm.token_step import TokenStep


class LeadingRunner(TextRunner):
    """`TextRunner` of several ranks. A step that fails, or a rank that is lost, ends the engine."""

    def __init__(self, ranks: Ranks, *args: Any, part: Part, **kwargs: Any) -> None:
        super().__init__(*args, part=part, **kwargs)
        self._ranks, self._group = ranks, part.group

    def check_device(self) -> None:
        """See `engine.model_runner.ModelRunner.check_device`."""
        self._ranks.check()
        super().check_device()

    def _draw(self, step: TokenStep, answers: Rows[Answer]) -> list[Sampled]:
        ways = ways_of(answers)
        with self._ranks.step(STEP, step.pack(), ways):
            tokens, gathered = draw(self.logits(step), ways, self._group)
            drawn = iter(tokens.tolist())
        whole = np.flatnonzero(ways[:, GATHERS])
        told = iter([] if gathered is None else sample(gathered, [answers[i] for i in whole]))
        return [next(told) if gathers else Sampled(next(drawn)) for gathers in ways[:, GATHERS]]
