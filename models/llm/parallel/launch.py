"""Starts the ranks of a text model and loads rank 0's part, see `engine.parallel.launch`."""

from __future__ import annotations

from pathlib import Path

from engine.device.devices import select_device
from engine.parallel.launch import check_options, load_in_parts
from engine.parallel.part import Part
from models.llm.checkpoint import TextCheckpoint, find_directory, load_text_checkpoint, plan_network
from models.llm.options import TextOptions

MODULE = "models.llm.parallel.rank"


def load_over_ranks(
    model: str | Path,
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
    check_options(options, (("kv_host_gib", 0), ("kv_offload", False)))
    directory, first = find_directory(model), select_device(device)
    plan_network(directory, Part(0, size))
    told = {"model": str(directory.resolve()), "cpu_weights": cpu_weights}
    checkpoint, checkpoint.ranks = load_in_parts(
        MODULE,
        size,
        first,
        told,
        options.threads,
        lambda device, dtype, part: load_text_checkpoint(model, device, dtype, cpu_weights, part),
    )
    return checkpoint
