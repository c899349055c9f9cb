"""Steps as programs over two ranks, which replay what rank 0 launches: the answers of free steps of one.

Without a GPU Triton's interpreter runs the kernels.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.programs.catalogue import Rooms
from models.llm import LLM
from models.llm.parallel.rank import ENDS, PROGRAMS, STEP
from models.llm.programs.runner import ProgramRunner
from tests.models.llm.answers import PARAMS, PROMPTS

LONG = list(range(40))
"""More positions than the only program for prompts that is left has room for."""


def test_programs_over_two_ranks_answer_as_free_steps_of_one(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"device": "cpu", "cpu_weights": "float32", "max_model_len": 48, "max_num_seqs": 2}
    with LLM(str(checkpoint_directory), **options) as one:
        expected = one.generate([*PROMPTS, LONG], [*PARAMS, PARAMS[0]], use_tqdm=False)
    with LLM(str(checkpoint_directory), 2, graphs="static", attention_backend="triton", **options) as two:
        runner = two._engine._llm.runner
        assert isinstance(runner._programs, ProgramRunner)
        numbers, step = set(), runner._ranks.step
        monkeypatch.setattr(
            runner._ranks, "step", lambda number, *arrays: (numbers.add(number), step(number, *arrays))[1]
        )
        found = two.generate(PROMPTS, PARAMS, use_tqdm=False)
        programs = runner._programs._programs
        programs.chunks = Rooms(programs.chunks._programs[:1])
        found += two.generate([LONG], PARAMS[0], use_tqdm=False)
    assert {STEP, ENDS} < numbers
    assert len([number for number in numbers if number >= PROGRAMS]) >= 3  # prompts, decodes, tokens
    for free, programmed in zip(expected, found, strict=True):
        assert free["token_ids"] == programmed["token_ids"]
        assert len(free["logprobs"]) == len(programmed["logprobs"])
