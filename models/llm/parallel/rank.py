"""What a rank above 0 runs: its part of the model, and the steps that rank 0 gives.

`python -m models.llm.parallel.rank FD` is started by `engine.parallel.ranks`.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.parallel.channel import Number
from engine.parallel.follower import Follower, follow
from engine.parallel.launch import join, serve_runner

if TYPE_CHECKING:
    from models.llm.programs.step_programs import StepPrograms
    from models.llm.runner import TextRunner

STEP, ENDS, PROGRAMS = range(Number.FIRST_STEP, Number.FIRST_STEP + 3)
"""Steps: `TokenStep.pack()` and `ways_of` the answers, drawn at once. The same without ways, for what draws
next. From `PROGRAMS` on: the program of this number, and what it was `sent`.
"""


def serve(follower: Follower) -> None:
    """Load, build and compute as rank 0 says, until it ends."""
    from models.llm.checkpoint import load_text_checkpoint
    from models.llm.kv_sizing import default_blocks
    from models.llm.options import TextOptions
    from models.llm.runner import TextRunner

    told, device, dtype, part = join(follower)
    checkpoint = load_text_checkpoint(told["model"], str(device), dtype, told["cpu_weights"], part)
    own = checkpoint.model, device, checkpoint.dtype, checkpoint.kv_dtype

    def blocks(told: dict[str, Any]) -> int:
        return default_blocks(checkpoint, TextOptions(**told["options"]), told["max_model_len"])

    serve_runner(follower, device, blocks, partial(TextRunner, *own, part=part), compute)


def compute(follower: Follower, runner: TextRunner) -> None:
    """Steps as they come, and the programs for them when they are told."""
    from models.llm.parallel.draw import draw
    from models.llm.token_step import TokenStep

    programs: StepPrograms | None = None
    for message in follower.messages():
        if message.number == Number.TELL:
            told = message.json()
            runner.compile_ahead(told["max_num_seqs"])
            programs, _ = runner.build(told["max_num_seqs"], told["record"])
            follower.answer("prepared")
        elif message.number >= PROGRAMS:
            programs.all[message.number - PROGRAMS].replay(message.first, message.second)
        else:
            step = TokenStep.unpack(np.frombuffer(message.first, np.int64))
            if message.number == STEP:
                draw(runner.logits(step), np.frombuffer(message.second).reshape(-1, 3), follower.group)
            else:
                programs.hidden[: len(step.ends)] = runner.at_ends(step)


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
