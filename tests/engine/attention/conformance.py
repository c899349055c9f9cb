"""What every attention backend has to hold, as functions that need neither pytest nor a GPU.

A case is run on a cache whose unused slots, and on queries whose padding, hold NaN; block tables are
shuffled. Outputs are compared with the SDPA backend in fp32 on the CPU (which other tests compare with
attention written out), and the whole cache with what it should hold, bit for bit.
`benchmarks.gpu.kernels.attention` runs them on CUDA, where `check_replay` captures a real graph.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.attention import AttentionBackend, AttentionBatch, StepShape
from engine.attention.backend import HeadNorms
from engine.attention.measure import captured
from engine.attention.sdpa import SDPABackend
from engine.layers.rotary import apply_rotary

Rows = tuple[tuple[int, int], ...]
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}

MIXES: dict[str, Rows] = {
    "one decode": ((37, 1),),
    "first position": ((0, 1),),
    "decodes of unequal length": ((0, 1), (31, 1), (15, 1), (16, 1), (70, 1)),
    "whole prompt": ((0, 13),),
    "several whole prompts": ((0, 3), (0, 16), (0, 1)),
    "later chunk": ((9, 6),),
    "later chunk at a block border": ((16, 16),),
    "chunk of many tiles": ((20, 70),),
    "decodes, then chunks": ((20, 1), (3, 1), (0, 9), (4, 5), (12, 1)),
    "decode after a chunk": ((0, 4), (30, 1), (2, 2)),
    "rows without positions": ((8, 1), (4, 0), (0, 3), (0, 0)),
    "no rows": (),
}
MIXED = MIXES["decodes, then chunks"]


@dataclass(frozen=True)
class Case:
    """Rows (start, count) on a cache of this layout; heads are of queries and of keys."""

    name: str
    rows: Rows
    block_size: int = 16
    heads: tuple[int, int] = (4, 2)
    head_dim: int = 64
    dtype: torch.dtype = torch.float32

    def __str__(self) -> str:
        kind = str(self.dtype).removeprefix("torch.")
        return f"{self.name}, block {self.block_size}, heads {self.heads}, dim {self.head_dim}, {kind}"


def small_cases() -> Iterator[Case]:
    """Each property by itself, at sizes that Triton's interpreter runs in a moment."""
    for name, rows in MIXES.items():
        yield Case(name, rows)
    mixed = Case("mixed", MIXED, heads=(2, 1))
    yield from (replace(mixed, block_size=size) for size in (32, 64, 128, 256))
    yield from (replace(mixed, heads=heads) for heads in ((2, 2), (6, 2), (16, 2), (20, 1)))
    yield from (replace(mixed, head_dim=dim) for dim in (16, 80, 96, 128))
    yield from (replace(mixed, dtype=dtype) for dtype in (torch.bfloat16, torch.float16))


def cases(dtype: torch.dtype, block_size: int, head_dim: int) -> Iterator[Case]:
    """All mixes, and contexts long enough to be split, for one layout with the released models' heads."""
    long = {"long decodes": ((1023, 1), (2000, 1)), "long mixed": ((700, 1), (1500, 1), (300, 200), (0, 130))}
    for name, rows in {**MIXES, **long}.items():
        yield Case(name, rows, block_size, (16, 2), head_dim, dtype)


@dataclass(frozen=True)
class Numbers:
    """A case filled with numbers, on the CPU; see `World`."""

    batch: AttentionBatch
    inputs: tuple[Tensor, Tensor, Tensor]
    cache: Tensor
    expected: Tensor
    expected_cache: Tensor


@lru_cache(maxsize=1024)
def numbers_of(case: Case, num_blocks: int | None, seed: int) -> Numbers:
    """All backends have the same ones. num_blocks: of the cache; None takes three more than are needed."""
    generator = torch.Generator().manual_seed(seed)
    needed = [-(-(start + count) // case.block_size) for start, count in case.rows]
    num_blocks = num_blocks or sum(needed) + 3
    free = random.Random(seed).sample(range(1, num_blocks), sum(needed))
    tables = [[free.pop() for _ in range(blocks)] for blocks in needed]
    batch = AttentionBatch([s for s, _ in case.rows], [c for _, c in case.rows], tables)

    def numbers(*shape: int) -> Tensor:
        return torch.randn(*shape, case.head_dim, generator=generator).to(case.dtype)

    tokens, (num_heads, num_kv_heads) = sum(batch.counts), case.heads
    q, k, v = (numbers(tokens, heads) for heads in (num_heads, num_kv_heads, num_kv_heads))
    cache = numbers(2, num_blocks, case.block_size, num_kv_heads)
    _poison(cache, batch)
    expected_cache = cache.to(torch.float32, copy=True)
    oracle = SDPABackend("cpu", torch.float32, case.block_size)
    expected = oracle.forward(q.float(), k.float(), v.float(), expected_cache, oracle.plan(batch))
    return Numbers(batch, (q, k, v), cache, expected, expected_cache)


def _poison(cache: Tensor, batch: AttentionBatch) -> None:
    used, size = torch.zeros(cache.shape[1:3], dtype=torch.bool), cache.shape[2]
    for start, table in zip(batch.starts, batch.block_tables, strict=True):
        for position in range(start):
            used[table[position // size], position % size] = True
    cache[:, ~used] = float("nan")


class World:
    """A case filled with numbers: the step's inputs, the cache before it, and what must come out.

    Attributes:
        batch: the rows with shuffled block tables; block 0 is in none of them.
        q, k, v: [T, heads, D] of the rows; cache: [2, num_blocks, block_size, Hkv, D], NaN where unused.
        expected, expected_cache: fp32, on the CPU.
    """

    def __init__(
        self, case: Case, device: torch.device, num_blocks: int | None = None, seed: int = 0
    ) -> None:
        numbers = numbers_of(case, num_blocks, seed)
        self.batch, self.expected, self.expected_cache = (
            numbers.batch,
            numbers.expected,
            numbers.expected_cache,
        )
        self.q, self.k, self.v = (part.to(device) for part in numbers.inputs)
        self.cache = numbers.cache.to(device, copy=True)

    def check(self, out: Tensor, cache: Tensor) -> None:
        """Raises AssertionError unless output and cache are right."""
        tolerance = TOLERANCE[out.dtype]
        torch.testing.assert_close(out.float().cpu(), self.expected, atol=tolerance, rtol=tolerance)
        torch.testing.assert_close(
            cache.float().cpu(), self.expected_cache, atol=0, rtol=0, equal_nan=True, msg="cache contents"
        )


def check_step(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    """A step planned for exactly its batch."""
    world = World(case, device)
    out = backend.forward(world.q, world.k, world.v, world.cache, backend.plan(world.batch))
    world.check(out, world.cache)


def check_fused_views(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    """Queries, keys and values may be views of one projection."""
    world = World(case, device)
    fused = torch.cat([world.q, world.k, world.v], 1)
    q, k, v = fused.split([case.heads[0], case.heads[1], case.heads[1]], 1)
    world.check(backend.forward(q, k, v, world.cache, backend.plan(world.batch)), world.cache)


def check_rotation(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    """Queries and keys that the backend rotates are those that were rotated before."""
    world, rotated = World(case, device), World(case, device)
    angles = torch.randn(len(world.q), 1, case.head_dim // 2, generator=torch.Generator().manual_seed(1))
    cos, sin = torch.cat([angles, angles], -1).cos(), torch.cat([-angles, angles], -1).sin()
    rope = (cos.to(device), sin.to(device))
    q, k = apply_rotary(rotated.q, *rope), apply_rotary(rotated.k, *rope)
    expected = backend.forward(q, k, rotated.v, rotated.cache, backend.plan(rotated.batch))
    actual = backend.forward(world.q, world.k, world.v, world.cache, backend.plan(world.batch), rope)
    tolerance = TOLERANCE[case.dtype]
    for found, wanted in ((actual, expected), (world.cache, rotated.cache)):
        torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance, equal_nan=True)


def check_head_norms(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    """Queries and keys of decodes that the backend normalises are those that were normalised before."""
    case = replace(case, rows=tuple((start, 1) for start, _ in case.rows))
    world, normalised = World(case, device), World(case, device)
    shape, eps = (case.head_dim,), 1e-6
    weights = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1)).to(device, world.q.dtype)
    q, k = (F.rms_norm(x, shape, w, eps) for x, w in zip((world.q, world.k), weights, strict=True))
    expected = backend.forward(q, k, normalised.v, normalised.cache, backend.plan(normalised.batch))
    norms = HeadNorms(*weights, eps)
    metadata = backend.plan(world.batch)
    actual = backend.forward(world.q, world.k, world.v, world.cache, metadata, norms=norms)
    tolerance = TOLERANCE[case.dtype]
    for found, wanted in ((actual, expected), (world.cache, normalised.cache)):
        torch.testing.assert_close(found, wanted, atol=tolerance, rtol=tolerance, equal_nan=True)


def check_dummy_rows(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    """Rows that all point at one dummy block pad a batch of decodes without disturbing it."""
    world = World(case, device)
    batch, dummies = world.batch, 3
    padded = AttentionBatch(
        batch.starts + [0] * dummies, batch.counts + [1] * dummies, batch.block_tables + [[0]] * dummies
    )
    q, k, v = (
        torch.cat([part, torch.randn_like(part[:1]).repeat(dummies, 1, 1)])
        for part in (world.q, world.k, world.v)
    )
    out = backend.forward(q, k, v, world.cache, backend.plan(padded))
    world.cache[:, 0] = float("nan")
    world.check(out[:-dummies], world.cache)
    assert out[-dummies:].isfinite().all()


class Replay:
    """A forward of fixed shape on buffers that are refilled: a CUDA graph, or the same call again."""

    def __init__(
        self,
        backend: AttentionBackend,
        case: Case,
        shape: StepShape,
        num_blocks: int,
        device: torch.device,
        recorded: bool,
    ) -> None:
        self._backend, self._shape = backend, shape
        self._metadata = backend.buffers(shape)
        parts = (case.heads[0], case.heads[1], case.heads[1])
        self._inputs = [
            torch.zeros(shape.num_tokens, heads, case.head_dim, dtype=case.dtype, device=device)
            for heads in parts
        ]
        cache_shape = (2, num_blocks, case.block_size, case.heads[1], case.head_dim)
        self.cache = torch.zeros(cache_shape, dtype=case.dtype, device=device)
        self._out: Tensor | None = None
        self._run: Callable[[], None] = captured(self._forward, device) if recorded else self._forward

    def _forward(self) -> None:
        self._out = self._backend.forward(*self._inputs, self.cache, self._metadata)

    def __call__(self, world: World) -> Tensor:
        """The step of `world`: outputs of its rows [T, Hq, D]; AssertionError when padding is not 0."""
        decodes = min(world.batch.num_leading_decodes, self._shape.num_decodes)
        chunk_tokens = sum(world.batch.counts[decodes:])
        rows = [*range(decodes), *range(self._shape.num_decodes, self._shape.num_decodes + chunk_tokens)]
        for static, part in zip(self._inputs, (world.q, world.k, world.v), strict=True):
            static.fill_(float("nan"))
            static[rows] = part
        self.cache.copy_(world.cache)
        self._backend.plan(world.batch, out=self._metadata)
        self._run()
        padding = [row for row in range(self._shape.num_tokens) if row not in rows]
        assert not self._out[padding].any(), "output of padding"
        return self._out[rows]


def check_replay(
    backend: AttentionBackend,
    case: Case,
    batches: list[Rows],
    shape: StepShape,
    device: torch.device,
    recorded: bool = False,
) -> None:
    """What is captured once serves every batch that fits, whatever it held before.

    Args:
        recorded: as a CUDA graph; otherwise the same call is made again on the same buffers.
    """
    most = max(sum(-(-(start + count) // case.block_size) for start, count in rows) for rows in batches) + 3
    replay = Replay(backend, case, shape, most, device, recorded)
    for seed, rows in enumerate(batches):
        world = World(replace(case, rows=rows), device, num_blocks=most, seed=seed)
        world.check(replay(world), replay.cache)


def check_nothing_else_is_written(backend: AttentionBackend, case: Case, device: torch.device) -> None:
    """A step with room for far more chunks than it has leaves memory beside its own tensors alone."""
    # Every other one is given back, so that what the backend allocates lies between those that are kept.
    shape = (case.heads[0], SPARSE_SHAPE.num_tokens)
    guards = [torch.zeros(shape, device=device) for _ in range(60)][::2]
    check_replay(backend, case, SPARSE_BATCHES, SPARSE_SHAPE, device)
    assert not any(guard.any() for guard in guards), "memory that is not the step's"


DECODE_SHAPE = StepShape(num_decodes=5, max_context=300)
DECODE_BATCHES: list[Rows] = [
    ((40, 1), (7, 1), (0, 1)),
    ((290, 1), (3, 1), (64, 1), (15, 1), (16, 1)),
    (),
    ((128, 1),),
]
MIXED_SHAPE = StepShape(num_decodes=3, num_chunks=3, num_chunk_tokens=40, max_context=120)
MIXED_BATCHES: list[Rows] = [
    ((20, 1), (3, 1), (0, 9), (4, 5)),
    ((1, 1), (2, 1), (3, 1), (4, 1), (0, 21), (64, 18)),
    ((0, 40),),
    ((90, 1), (33, 1)),
    ((60, 1), (5, 0), (0, 12), (100, 2)),
]
SPARSE_SHAPE = StepShape(0, num_chunks=16, num_chunk_tokens=1024, max_context=256)
SPARSE_BATCHES: list[Rows] = [((0, 9), (100, 40), (5, 4)), ((0, 200),)]
