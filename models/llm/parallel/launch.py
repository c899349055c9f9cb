"""Starts the ranks of a text model and loads rank 0's part.

Ranks on GPUs take devices one after the other, beginning with the one that is asked for.
"""

from __future__ import annotations

import torch

from engine.cpu.cpus import thread_limit
from engine.device.devices import default_dtype, select_device
from engine.errors import RequestError
from engine.parallel.meeting import lead
from engine.parallel.part import PARAM, Part
from engine.parallel.ranks import Ranks
from models.llm.checkpoint import TextCheckpoint, find_directory, load_text_checkpoint, plan_network
from models.llm.options import TextOptions

MODULE = "models.llm.parallel.rank"


def load_over_ranks(
    model: str,
    device: str = "auto",
    cpu_weights: str = "auto",
    tensor_parallel_size: int = 1,
    options: TextOptions | None = None,
) -> TextCheckpoint:
    """`load_text_checkpoint`, over so many ranks; whoever has the checkpoint closes its `ranks`.

    options: of the engine that is to have it. Raises as that does, RequestError where the model or the GPUs
    cannot be divided so, DeviceLostError when a rank fails.
    """
    size = Part(size=tensor_parallel_size).size
    if size == 1:
        return load_text_checkpoint(model, device, cpu_weights=cpu_weights)
    options = options or TextOptions()
    _check_options(options)
    directory, first = find_directory(model), select_device(device)
    plan_network(directory, Part(0, size))
    devices = _devices(first, size)
    dtype = default_dtype(first)
    told = {
        "model": str(directory.resolve()),
        "cpu_weights": cpu_weights,
        "dtype": str(dtype).removeprefix("torch."),
        "threads": threads_of_rank(options.threads, size),
    }
    ranks = Ranks(MODULE, size)
    try:
        group = lead(ranks, [told | {"device": name} for name in devices[1:]], first)
        checkpoint = load_text_checkpoint(model, devices[0], dtype, cpu_weights, Part(0, size, group))
        ranks.answers()
    except BaseException:
        ranks.close()
        raise
    checkpoint.ranks = ranks
    return checkpoint


def threads_of_rank(threads: int | None, size: int) -> int:
    """Each rank's part of the threads that an engine may have."""
    return max(1, (threads or thread_limit()) // size)


def _check_options(options: TextOptions) -> None:
    """What several ranks do not do."""
    for name, only in (("kv_host_gib", 0), ("kv_offload", False)):
        value = getattr(options, name)
        if value != only:
            raise RequestError(f"{name} {value!r} needs a {PARAM} of 1", name, "unsupported")


def _devices(first: torch.device, size: int) -> list[str]:
    if first.type != "cuda":
        return [str(first)] * size
    count, index = torch.cuda.device_count(), first.index
    if index + size > count:
        problem = f"{PARAM} {size} from {first} on: PyTorch sees {count} CUDA devices here"
        raise RequestError(problem, PARAM, "out_of_range")
    return [f"cuda:{index + rank}" for rank in range(size)]
