"""The profile of the text bench, on a device that computes nothing: steps are told as they were."""

from __future__ import annotations

import random

from benchmarks.llm.__main__ import prompts
from benchmarks.llm.host import idle_engine
from benchmarks.llm.profile import Watched, Windows, told


def test_steps_are_told_by_their_rows_and_the_positions_of_their_prompts(capsys) -> None:
    given = prompts(random.Random(0), [40, 300, 20])
    with idle_engine(max_num_seqs=4) as engine:
        steps = Watched(engine).run((given, [30, 20, 10]), Windows([2], on_device=False, steps=4))
    assert sum(step.tokens for step in steps) == 360
    assert [step.decodes for step in steps] == [0, *[3] * 9, *[2] * 10, *[1] * 10]
    assert sum(step.launched for step in steps) == 57  # all tokens but the first of each answer
    assert all(step.room >= step.launched for step in steps)
    table = told(steps)
    assert table.splitlines()[0].startswith("30 steps, ")
    assert "1 to 16 rows" in table and "prompts" in table
    written = capsys.readouterr().out
    assert "steps 2 to 5:" in written and "host, steps 6 to 9" in written
