"""Starts the ranks of a model and loads rank 0's part; the same for every family of models.

Ranks on GPUs take devices one after the other, beginning with the one that is asked for.

    checkpoint, checkpoint.ranks = load_in_parts("models.llm.parallel.rank", 2, first, {"model": ...}, load)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch

from engine.cpu.cpus import thread_limit
from engine.device.devices import default_dtype, on_device
from engine.errors import RequestError
from engine.parallel.follower import Follower
from engine.parallel.meeting import follow_into, lead
from engine.parallel.part import PARAM, Part
from engine.parallel.ranks import Ranks

Loaded, Runner = TypeVar("Loaded"), TypeVar("Runner")
Load = Callable[[str, torch.dtype, Part], Loaded]
"""(device, dtype, part) -> what a rank has."""


def load_in_parts(
    module: str, size: int, first: torch.device, told: dict[str, Any], threads: int | None, load: Load[Loaded]
) -> tuple[Loaded, Ranks]:
    """Rank 0's part of what all ranks load at once, and the others, which whoever has them closes.

    module: what the others run. told: to each, beside its place, its device, its type and its threads;
    see `join`. threads: of the whole engine. Raises what `load` raises, RequestError where there are not so
    many GPUs, DeviceLostError when a rank fails.
    """
    devices, dtype = _devices(first, size), default_dtype(first)
    named = str(dtype).removeprefix("torch.")
    told = told | {"dtype": named, "threads": threads_of_rank(threads, size)}
    ranks = Ranks(module, size)
    try:
        group = lead(ranks, [told | {"device": name} for name in devices[1:]], first)
        loaded = load(devices[0], dtype, Part(0, size, group))
        ranks.answers()
    except BaseException:
        ranks.close()
        raise
    return loaded, ranks


def join(follower: Follower) -> tuple[dict[str, Any], torch.device, torch.dtype, Part]:
    """The side of another rank: what it was told, its device, its type, and its part."""
    told = follower.told()
    torch.set_num_threads(told["threads"])
    device = torch.device(told["device"])
    group = follow_into(follower, told, device)
    return told, device, getattr(torch, told["dtype"]), Part(group.rank, group.size, group)


def serve_runner(
    follower: Follower,
    device: torch.device,
    blocks: Callable[[dict[str, Any]], int],
    make: Callable[..., Runner],
    compute: Callable[[Follower, Runner], None],
) -> None:
    """What another rank does once its part is loaded, until rank 0 ends it.

    blocks: of the KV cache that there is room for, of what an engine is to be. make: a runner of the sizes
    that all have. compute: the steps that it is given.
    """
    follower.answer("loaded")
    while "build" not in (told := follower.told()):
        follower.answer(blocks(told))
    runner = make(**told["build"])
    follower.answer("built")
    with on_device(device), torch.inference_mode():
        compute(follower, runner)
        if device.type == "cuda":  # rank 0 may wait for the last step
            torch.cuda.synchronize(device)


def threads_of_rank(threads: int | None, size: int) -> int:
    """Each rank's part of the threads that an engine may have."""
    return max(1, (threads or thread_limit()) // size)


def check_options(options: object, only: Iterable[tuple[str, object]]) -> None:
    """Raises RequestError, by name, for an option that several ranks have no other value of."""
    for name, value in only:
        if (chosen := getattr(options, name)) != value:
            raise RequestError(f"{name} {chosen!r} needs a {PARAM} of 1", name, "unsupported")


def _devices(first: torch.device, size: int) -> list[str]:
    if first.type != "cuda":
        return [str(first)] * size
    count, index = torch.cuda.device_count(), first.index
    if index + size > count:
        problem = f"{PARAM} {size} from {first} on: PyTorch sees {count} CUDA devices here"
        raise RequestError(problem, PARAM, "out_of_range")
    return [f"cuda:{index + rank}" for rank in range(size)]
