"""Fused layers compute what the layers they replace compute."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.attention import AttentionBatch, PagedAttention, select_backend
from engine.kernels.linear import spare_rows
from engine.kernels.linear.split_tiling import MAX_ROWS
from engine.kernels.low_rank.slots import LowRankRows, LowRankSlots, Zeros
from engine.kv_cache.pool import KVPool
from engine.layers.low_rank import LowRankPlace, turns_of
from models.transformer.fused import FusedLayer, fuse_layers
from models.transformer.products import NOTHING
from models.transformer.stack import DOWN, GATE_UP, OUTPUT, QKV, Transformer, bidirectional_attention
from models.voxcpm.config import RopeScaling, TransformerConfig

ANY = range(1 << 20)
LAYERS = 2  # one with another behind it, and one that keeps rows
Limits = tuple[int, tuple[range, ...]]


@pytest.fixture(params=[(0, ()), (0, (ANY,)), (MAX_ROWS, ())], ids=["many rows", "halved", "few rows"])
def limits(request: pytest.FixtureRequest) -> Limits:
    """Up to how many rows a layer takes the form for few rows, and for how many that for some hundred."""
    return request.param


def _stacks(
    limits: Limits,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 32,
    scale_depth: float | None = None,
    intermediate_size: int = 80,
) -> tuple[Transformer, Transformer]:
    """A stack of random weights, as it is and fused."""
    factor = tuple(torch.linspace(1, 9, head_dim // 2).tolist())
    config = TransformerConfig(
        hidden_size=48,
        intermediate_size=intermediate_size,
        num_hidden_layers=LAYERS,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=1024,
        rope_scaling=RopeScaling(factor, factor, 512),
        kv_channels=head_dim,
        use_mup=scale_depth is not None,
        scale_depth=scale_depth or 1.0,
    )
    torch.manual_seed(1)
    plain = Transformer(config).eval().requires_grad_(False)
    for name, parameter in plain.named_parameters():
        if "norm" in name:
            parameter.normal_(1.0, 0.3)
    fused = copy.deepcopy(plain)
    fuse_layers(fused, *limits)
    assert all(isinstance(layer, FusedLayer) for layer in fused.layers)
    return plain, fused


@pytest.mark.parametrize(
    ("heads", "kv_heads", "head_dim", "length", "rotary"),
    [(4, 2, 32, 5, True), (6, 2, 64, 7, False), (8, 1, 128, 11, True), (2, 2, 16, 70, True)],
)
@pytest.mark.parametrize("keep", [None, slice(-2, None), slice(0, 1)])
@torch.inference_mode()
def test_rows_through_a_fused_stack(
    limits: Limits, heads: int, kv_heads: int, head_dim: int, length: int, rotary: bool, keep: slice | None
) -> None:
    plain, fused = _stacks(limits, heads, kv_heads, head_dim)
    x = torch.randn(2, length, 48)
    given = x.clone()
    rope = plain.cos_sin(torch.arange(length)) if rotary else None
    expected = plain(x, rope, bidirectional_attention, keep)
    torch.testing.assert_close(fused(x, rope, bidirectional_attention, keep), expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(x, given)


@pytest.mark.parametrize("keep", [None, slice(-4, None)])
@pytest.mark.parametrize("slots", [None, [0, -1, 1, 1, -1, 0]], ids=["none", "adapters"])
@torch.inference_mode()
def test_what_stands_in_rows_to_spare_is_nothing_to_others(
    monkeypatch: pytest.MonkeyPatch, keep: slice | None, slots: list[int] | None
) -> None:
    products = {QKV: (256, 48), OUTPUT: (48, 128), GATE_UP: (160, 48), DOWN: (48, 80)}
    told = {132: 140, 48: 49}
    monkeypatch.setattr(spare_rows, "FASTER_ROWS", dict.fromkeys(products.values(), told))
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)  # with NaN
    plain, fused = _stacks((0, ()))
    deltas = _Deltas(slots, 2) if slots else NOTHING
    x, rope = torch.randn(12, 11, 48), plain.cos_sin(torch.arange(11))
    torch.use_deterministic_algorithms(True)
    try:
        found = fused.run(x, rope, bidirectional_attention, keep, deltas)
    finally:
        torch.use_deterministic_algorithms(False)
    if slots is None:
        expected = plain(x, rope, bidirectional_attention, keep)
    else:
        monkeypatch.setattr(spare_rows, "FASTER_ROWS", {(1, 1): {}})
        expected = fused.run(x, rope, bidirectional_attention, keep, deltas)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert found.isfinite().all()


class _Deltas:
    """Two slots of random matrices for some products, and entries that have them."""

    parts = {QKV: (128, 64, 64), OUTPUT: (48,), GATE_UP: (80, 80), DOWN: (48,)}
    sizes = {QKV: 48, OUTPUT: 128, GATE_UP: 48, DOWN: 80}

    def __init__(
        self, slots: list[int], branches: int, products: Sequence[int] = (QKV, OUTPUT), rank: int = 16
    ) -> None:
        self.products = frozenset(products)
        places, at = {}, 0
        for key in itertools.product(range(LAYERS), products):
            parts, size = self.parts[key[1]], self.sizes[key[1]]
            up = at + len(parts) * rank * size
            places[key] = LowRankPlace(at, up, size, parts)
            at = up + sum(parts) * rank
        self.slots = {
            key: LowRankSlots(0.1 * torch.randn(2, at), place, rank) for key, place in places.items()
        }
        self.turns = torch.from_numpy(turns_of(np.array(slots)))
        self.zeros, self.branches = Zeros(torch.device("cpu")), branches

    def of(self, layer: int, product: int) -> LowRankRows | None:
        found = self.slots.get((layer, product))
        return found and LowRankRows(found, self.turns, self.zeros, self.branches)

    def merged(self, stack: Transformer, slot: int) -> Transformer:
        """The stack with one slot's matrices in its weights."""
        stack = copy.deepcopy(stack)
        for (layer, product), slots in self.slots.items():
            place, storage = slots.place, slots.storage[slot]
            attention, mlp = stack.layers[layer].self_attn, stack.layers[layer].mlp
            linears = (attention.qkv_proj, attention.o_proj, mlp.gate_up_proj, mlp.down_proj)
            weight = linears[product].weight
            downs = storage[place.down : place.up].view(len(place.outputs), slots.rank, place.size)
            ups = storage[place.up : place.up + sum(place.outputs) * slots.rank].view(-1, slots.rank)
            for rows, up, down in zip(
                weight.split(place.outputs), ups.split(place.outputs), downs, strict=True
            ):
                rows += up @ down
        return stack


@pytest.mark.parametrize("slots", [[1, -1], [0, -1, 1, 1, -1, 0]], ids=["few streams", "more"])
@pytest.mark.parametrize("keep", [None, slice(-4, None)])
@pytest.mark.parametrize("products", [(QKV, OUTPUT), (GATE_UP,), (QKV, OUTPUT, GATE_UP, DOWN)])
@torch.inference_mode()
def test_rows_through_a_fused_stack_with_adapters(
    limits: Limits, slots: list[int], keep: slice | None, products: tuple[int, ...]
) -> None:
    plain, fused = _stacks(limits)
    deltas = _Deltas(slots, 2, products)
    x = torch.randn(2 * len(slots), 11, 48)
    rope = plain.cos_sin(torch.arange(11))
    found = fused.run(x, rope, bidirectional_attention, keep, deltas)
    of_slot = {slot: plain if slot < 0 else deltas.merged(plain, slot) for slot in set(slots)}
    for row, slot in enumerate(2 * slots):
        expected = of_slot[slot](x[row : row + 1], rope, bidirectional_attention, keep)
        torch.testing.assert_close(found[row : row + 1], expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("keep", [None, slice(0, None), slice(1, 3)])
@torch.inference_mode()
def test_another_attention_gets_rotated_queries_and_keys(limits: Limits, keep: slice | None) -> None:
    plain, fused = _stacks(limits)
    x, rope = torch.randn(2, 6, 48), plain.cos_sin(torch.arange(6))
    seen = []

    def attention(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        seen.append((layer, q, k, v))
        return bidirectional_attention(layer, q, k, v)

    expected = plain(x, rope, attention, keep)
    torch.testing.assert_close(fused(x, rope, attention, keep), expected, atol=1e-5, rtol=1e-5)
    for (layer, *theirs), (fused_layer, *ours) in zip(seen[:LAYERS], seen[LAYERS:], strict=True):
        assert layer == fused_layer
        for part, fused_part in zip(theirs, ours, strict=True):
            torch.testing.assert_close(fused_part, part, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_residuals_that_are_scaled(limits: Limits) -> None:
    plain, fused = _stacks(limits, scale_depth=1.4)
    assert plain.config.residual_scale != 1
    x, rope = torch.randn(2, 5, 48), plain.cos_sin(torch.arange(5))
    expected = plain(x, rope, bidirectional_attention)
    torch.testing.assert_close(fused(x, rope, bidirectional_attention), expected, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_an_mlp_of_odd_size(limits: Limits) -> None:
    plain, fused = _stacks(limits, intermediate_size=81)
    x, rope = torch.randn(2, 5, 48), plain.cos_sin(torch.arange(5))
    expected = plain(x, rope, bidirectional_attention)
    torch.testing.assert_close(fused(x, rope, bidirectional_attention), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("ends", [None, torch.tensor([10, 4])], ids=["all", "ends"])
@torch.inference_mode()
def test_paged_attention_over_a_chunk_and_decodes(limits: Limits, ends: Tensor | None) -> None:
    """ends: places of the chunks that are read; keys and values are stored of all."""
    plain, fused = _stacks(limits)
    results = []
    for stack in (plain, fused):
        torch.manual_seed(2)
        backend = select_backend("triton", "cpu", torch.float32, 32, 4)
        pool = KVPool(3, 8, 4, 2, 32, torch.float32, torch.device("cpu"))
        for batch in (
            AttentionBatch([0, 0], [5, 6], [[0, 1], [4, 5]]),
            AttentionBatch([5, 6], [1, 1], [[0, 1], [4, 5]]),
        ):
            positions = [torch.arange(s, s + n) for s, n in zip(batch.starts, batch.counts, strict=True)]
            x, rope = torch.randn(sum(batch.counts), 48), plain.cos_sin(torch.cat(positions))
            attention = PagedAttention(backend, pool, backend.plan(batch))
            read = None if stack is plain or len(x) == 2 else ends
            results.append(stack(x, rope, attention, read))
    chunks, decodes, *found = results
    expected = [chunks if ends is None else chunks[ends], decodes]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_weights_are_shared_with_the_layers_they_come_from() -> None:
    plain, _ = _stacks((MAX_ROWS, ()))
    before = {parameter.data_ptr() for parameter in plain.parameters()}
    fuse_layers(torch.nn.ModuleList([plain]))
    assert {parameter.data_ptr() for parameter in plain.parameters()} == before
