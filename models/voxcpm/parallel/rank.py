"""What a rank above 0 runs: its part of the model, and the steps that rank 0 gives, up to their patches.

`python -m models.voxcpm.parallel.rank FD` is started by `engine.parallel.ranks`.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.parallel.channel import Message, Number
from engine.parallel.follower import Follower, follow
from engine.parallel.launch import join, serve_runner

if TYPE_CHECKING:
    from models.voxcpm.programs.step_programs import StepPrograms
    from models.voxcpm.runner import VoxCPMRunner

STEP, PUT, PROGRAMS = range(Number.FIRST_STEP, Number.FIRST_STEP + 3)
"""Steps: what `models.voxcpm.steps.packing.pack` gives. Slots, and the patches that are the last of them from
now on. From `PROGRAMS` on: the program of this number, and what its `replay` takes.
"""


def serve(follower: Follower) -> None:
    """Load, build and compute as rank 0 says, until it ends."""
    from models.voxcpm.checkpoint import load_network
    from models.voxcpm.kv_sizing import default_blocks
    from models.voxcpm.options import EngineOptions
    from models.voxcpm.runner import VoxCPMRunner

    told, device, dtype, part = join(follower)
    model = load_network(Path(told["model"]), device, dtype, told["cpu_weights"], part=part)

    def blocks(told: dict[str, Any]) -> int:
        options = EngineOptions(**told["options"])
        return default_blocks(model.config, options, told["max_model_len"], device, dtype, part)

    serve_runner(follower, device, blocks, partial(VoxCPMRunner, model, None, part=part), compute)


def compute(follower: Follower, runner: VoxCPMRunner) -> None:
    """Steps as they come, and the programs for them when they are told."""
    from models.voxcpm.programs.step_programs import ProgramPlan

    programs: StepPrograms | None = None
    for message in follower.messages():
        if message.number == Number.TELL:
            told = message.json()
            plan = ProgramPlan.told(told["plan"])
            runner.builder.compile_ahead(plan)
            programs = runner.build(plan, told["record"])
            follower.answer("prepared")
        elif message.number >= PROGRAMS:
            programs.all[message.number - PROGRAMS].replay(message.first, message.second)
        else:
            _compute_freely(runner, message)


def _compute_freely(runner: VoxCPMRunner, message: Message) -> None:
    from models.voxcpm.steps.packing import unpack

    ints, values = np.frombuffer(message.first, np.int64), np.frombuffer(message.second, np.float32)
    patch = (runner.config.patch_size, runner.config.feat_dim)
    if message.number == STEP:
        runner.unrecorded.compute(*unpack(ints, values, patch))
    else:
        runner.streams.put(ints, values.reshape(-1, *patch))


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
