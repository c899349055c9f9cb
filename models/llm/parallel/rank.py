"""What a rank above 0 runs: its part of the model, and the steps that rank 0 gives.

`python -m models.llm.parallel.rank FD` is started by `engine.parallel.ranks`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import torch

from engine.devices import on_device
from engine.parallel.channel import Number
from engine.parallel.follower import Follower, follow
from engine.parallel.group import Place
from engine.parallel.meeting import connect
from engine.parallel.part import Part

if TYPE_CHECKING:
    from models.llm.runner import TextRunner

STEP = int(Number.FIRST_STEP)
"""`TokenStep.pack()` and `ways_of` the answers."""


def serve(follower: Follower) -> None:
    """Load, build and compute as rank 0 says, until it ends."""
    from models.llm.checkpoint import load_text_checkpoint
    from models.llm.kv_sizing import default_blocks
    from models.llm.options import TextOptions
    from models.llm.runner import TextRunner

    told = follower.told()
    torch.set_num_threads(told["threads"])
    device = torch.device(told["device"])
    place = Place(told["rank"], told["size"], told["store"], told["name"])
    follower.answer("ready")
    follower.group = group = connect(place, device)
    follower.answer("connected")
    part = Part(place.rank, place.size, group)
    dtype = getattr(torch, told["dtype"])
    checkpoint = load_text_checkpoint(told["model"], str(device), dtype, told["cpu_weights"], part)
    follower.answer("loaded")
    while "build" not in (told := follower.told()):
        follower.answer(default_blocks(checkpoint, TextOptions(**told["options"]), told["max_model_len"]))
    runner = TextRunner(checkpoint.model, device, checkpoint.dtype, part=part, **told["build"])
    follower.answer("built")
    compute(follower, runner, device)


@torch.inference_mode()
def compute(follower: Follower, runner: TextRunner, device: torch.device) -> None:
    """Steps as they come."""
    from models.llm.parallel.draw import draw
    from models.llm.token_step import TokenStep

    with on_device(device):
        for message in follower.steps():
            step = TokenStep.unpack(np.frombuffer(message.first, np.int64))
            ways = np.frombuffer(message.second, np.float64).reshape(-1, 3)
            draw(runner.logits(step), ways, follower.group)


if __name__ == "__main__":
    follow(int(sys.argv[1]), serve)
