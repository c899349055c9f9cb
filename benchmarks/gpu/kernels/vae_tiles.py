"""Which tiles `benchmarks/gpu/kernels/vae.py` tries for the stages of the fused decoder, and how a stage
takes them.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from models.voxcpm.fused import vae_stages
from models.voxcpm.fused.vae_stages import ProductStage, SeparableStage, Stage
from models.voxcpm.fused.vae_tiles import Tile

Choice = dict[str, Tile | None]
"""What the functions of `fused.vae_tiles` of these names answer instead."""
MANY_ROWS = 16
"""Streams from which the tiles for many rows are tried."""
CONV_MANY = (
    Tile(128, 256, 32, 8, 3), Tile(128, 256, 32, 8, 4), Tile(128, 128, 32, 8, 3, 128),
    Tile(128, 128, 32, 8, 3), Tile(128, 128, 32, 4, 3), Tile(128, 128, 64, 8, 2), Tile(128, 64, 32, 4, 3),
    Tile(64, 128, 32, 4, 3), Tile(64, 128, 32, 4, 4, 128), Tile(64, 64, 32, 4, 4),
)  # fmt: skip
CONV_FEW = (
    Tile(16, 16, 128, 4, 4), Tile(16, 16, 256, 4, 3), Tile(16, 32, 128, 4, 4), Tile(16, 32, 64, 4, 6),
    Tile(16, 64, 64, 4, 5), Tile(32, 32, 64, 4, 4), Tile(32, 64, 64, 4, 3),
)  # fmt: skip
CONV_NARROW = (
    Tile(128, 128, 32, 8, 3, 128), Tile(128, 64, 32, 4, 3), Tile(128, 64, 64, 8, 1), Tile(128, 32, 32, 4, 1)
)  # fmt: skip
SEPARABLE_MANY = (
    Tile(64, 128, 32, 8, 1, None, 2), Tile(64, 128, 16, 8, 1, None, 4), Tile(32, 128, 32, 8, 1, None, 4),
    Tile(32, 128, 32, 8, 1, 128, 2), Tile(64, 64, 32, 8, 1, None, 4), Tile(64, 64, 32, 8, 1, None, 2),
    Tile(64, 64, 16, 8, 1, 128, 2), Tile(32, 64, 32, 8, 1, None, 4), Tile(32, 64, 32, 8, 1, 128, 4),
    Tile(32, 64, 32, 4, 1, None, 4), Tile(64, 32, 32, 8, 1, None, 4), Tile(64, 32, 32, 8, 1, 128, 2),
    Tile(32, 32, 32, 4, 1, None, 4), Tile(32, 32, 32, 4, 1, 128, 2), Tile(32, 32, 32, 4, 1),
)  # fmt: skip
SEPARABLE_FEW = (
    Tile(16, 128, 128, 8, 1), Tile(16, 128, 64, 4, 1), Tile(32, 128, 64, 8, 1), Tile(16, 64, 128, 8, 1),
    Tile(16, 64, 64, 4, 1), Tile(32, 64, 64, 8, 1), Tile(16, 32, 64, 4, 1), Tile(32, 32, 32, 4, 1),
    Tile(64, 32, 32, 8, 1),
)  # fmt: skip
DEPTHWISE_STEPS = (16, 8, 4)


def size(stage: Any) -> tuple[int, int] | None:
    """Outputs and inputs of the stage's matrix."""
    product = stage._product if isinstance(stage, SeparableStage) else stage
    return tuple(product.weight.shape) if isinstance(product, ProductStage) else None


def groups(stages: list[Stage]) -> Iterator[list[int]]:
    """Places of the stages that have tiles, those of one size together."""
    places = [place for place, stage in enumerate(stages) if size(stage)]
    for _, group in itertools.groupby(places, lambda place: size(stages[place])):
        yield list(group)


def choices(stage: Stage, streams: int) -> list[Choice]:
    """What is tried for a stage."""
    shape, many = size(stage), streams >= MANY_ROWS
    if shape is None:
        return []
    outputs, inputs = shape
    wide = [tile for tile in (CONV_MANY if many else CONV_FEW) if tile.n <= outputs]
    if isinstance(stage, ProductStage):
        return [{"conv_tile": tile} for tile in wide]
    found: list[Choice] = []
    if outputs <= 128 or inputs <= 64:
        tiles = SEPARABLE_MANY if many else SEPARABLE_FEW
        whole = [tile for tile in tiles if tile.n == outputs or (outputs > 128 and tile.n >= 32)]
        found += [{"separable_tile": tile} for tile in whole]
        wide = [tile for tile in CONV_NARROW if tile.n <= outputs] if many else []
    channels = min(64, inputs)
    for steps in DEPTHWISE_STEPS if many else (1,):
        depthwise = Tile((512 if many else 256) // channels, channels, 0, 4, 1, None, steps)
        for tile in wide if steps in (1, 8) else wide[1:2]:
            found.append({"separable_tile": None, "depthwise_tile": depthwise, "conv_tile": tile})
    return found


def brief(choice: Choice) -> str:
    """Rows x columns x inputs, w warps, p stages, r registers, s frames of a row."""
    parts = []
    for name, tile in choice.items():
        if tile is None:
            continue
        limit = f"r{tile.registers}" if tile.registers else ""
        numbers = f"{tile.m}x{tile.n}x{tile.k}w{tile.warps}p{tile.stages}{limit}s{tile.steps}"
        parts.append(f"{name[:1]}{numbers}")
    return "+".join(parts)


def chosen(choice: Choice) -> Any:
    """While it lasts, tiles are those of `choice`."""
    stack = contextlib.ExitStack()
    for name, tile in choice.items():
        stack.enter_context(mock.patch.object(vae_stages, name, lambda *_, tile=tile: tile))
    return stack


@contextlib.contextmanager
def as_for(streams: int) -> Iterator[None]:
    """While it lasts, one stream runs with the tiles of this many."""
    with contextlib.ExitStack() as stack:
        for name in ("conv_tile", "separable_tile", "depthwise_tile"):
            rule = getattr(vae_stages, name)
            patched = mock.patch.object(
                vae_stages, name, lambda count, *rest, rule=rule: rule(count * streams, *rest)
            )
            stack.enter_context(patched)
        yield


def forced(stage: Stage, choice: Choice) -> Callable[..., Any]:
    """The stage with tiles of one's own."""

    def call(*arguments: Any) -> Any:
        with chosen(choice):
            return stage(*arguments)

    return call
