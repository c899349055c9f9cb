"""Fused and plain forms over the same inputs and random weights, for `benchmarks.gpu.kernels.fused`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from engine.attention import AttentionBatch, StepShape
from engine.attention.measure import with_shuffled_tables
from engine.attention.triton_backend.backend import TritonBackend
from engine.kernels.activation import silu_mul
from engine.kernels.norms.norm import rms_norm
from engine.kernels.rotary import rotate_
from engine.kernels.row_attention import row_attention
from engine.layers.rotary import apply_rotary
from models.transformer.fused import fuse_layers
from models.transformer.stack import CosSin, Transformer, bidirectional_attention
from models.voxcpm.config import TransformerConfig, VoxCPMConfig
from models.voxcpm.flow_matching import FlowSolver, guide
from models.voxcpm.fused.flow import FusedEncoder, FusedFlow
from models.voxcpm.fused.flow_kernels import Placement, Step, flow_step
from models.voxcpm.fused.linear import fuse_linears
from models.voxcpm.model import LocalDiT, LocalEncoder

CFG_VALUE, STEP_SIZE = 2.0, 0.1
CONTEXT, ROOM, BLOCK_SIZE = 300, 4096, 16
"""Positions of the language model: of every stream, and those there is room for."""
Row = tuple[Tensor, TransformerConfig, CosSin | None, slice | None]
"""Queries, keys and values [N, L, C], the sizes of their heads, rotary factors, and the kept queries."""


@dataclass(frozen=True)
class Modules:
    """The parts of the network that run over rows of a few tokens, in one type."""

    dit: LocalDiT
    encoder: LocalEncoder

    def to(self, dtype: torch.dtype) -> Modules:
        return Modules(copy.deepcopy(self.dit).to(dtype), copy.deepcopy(self.encoder).to(dtype))


@dataclass(frozen=True)
class Case:
    """Two forms of one thing; `launches` of it make up a timed graph."""

    name: str
    fused: Callable[..., Tensor]
    plain: Callable[..., Tensor]
    """Takes `Modules` first."""
    inputs: list[Tensor]
    launches: int


class Inputs:
    """Random inputs of row attention for any number of streams."""

    launches = 40

    def __init__(self, config: VoxCPMConfig, device: torch.device, dtype: torch.dtype) -> None:
        torch.manual_seed(0)
        self.config, self.device, self.dtype = config, device, dtype
        self.time_place = 2 if config.two_condition_tokens else 0
        self.length = self.time_place + 1 + 2 * config.patch_size
        self._rope = Transformer(replace(config.dit_transformer(), num_hidden_layers=0)).rope.to(device)

    def randn(self, *shape: int) -> Tensor:
        return torch.randn(*shape, device=self.device, dtype=self.dtype)

    def rope(self, length: int) -> CosSin:
        """Rotary factors; all stacks share their frequencies."""
        return self._rope.cos_sin(torch.arange(length, device=self.device))

    def rows(self, streams: int) -> dict[str, Row]:
        """Inputs of row attention as the DiT, its last layer and the encoder have them."""
        patch, dit, encoder = self.config.patch_size, *self._sizes()
        return {
            "rows, DiT": self._inputs(2 * streams, self.length, dit, None),
            "rows, DiT, last layer": self._inputs(2 * streams, self.length, dit, slice(-patch, None)),
            "rows, encoder": self._inputs(streams, 1 + patch, encoder, None),
        }

    def _sizes(self) -> tuple[TransformerConfig, TransformerConfig]:
        return self.config.dit_transformer(), self.config.encoder_transformer()

    def _inputs(self, rows: int, length: int, sizes: TransformerConfig, keep: slice | None) -> Row:
        heads = sizes.num_attention_heads + 2 * sizes.num_key_value_heads
        return self.randn(rows, length, heads * sizes.head_dim), sizes, self.rope(length), keep


class Parts(Inputs):
    """Random weights as well, plain, fused and in fp32."""

    def __init__(self, config: VoxCPMConfig, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__(config, device, dtype)
        with device:
            dit = LocalDiT(config.dit_transformer(), config.feat_dim, config.two_condition_tokens)
            encoder = LocalEncoder(config.encoder_transformer(), config.feat_dim)
        for part in (dit, encoder):
            part.to(device).eval().requires_grad_(False)
        self.plain = Modules(dit, encoder).to(dtype)
        self.exact = self.plain.to(torch.float32)
        fused = self.plain.to(dtype)
        fuse_layers(fused.dit)
        fuse_layers(fused.encoder)
        fuse_linears(fused.dit)
        fused.dit.integrate = FusedFlow(fused.dit, config.patch_size).integrate
        self.fused_dit, self.fused_encoder = fused.dit, FusedEncoder(fused.encoder, config.patch_size)

    def cases(self, streams: int) -> list[Case]:
        sizes = self.config.dit_transformer()
        tokens, hidden, ffn = 2 * streams * self.length, sizes.hidden_size, sizes.intermediate_size
        norm_inputs = [self.randn(tokens, hidden), self.randn(hidden)]
        return [
            Case("norm", _norm, _plain_norm, norm_inputs, self.launches),
            Case("gate", silu_mul, _plain_gate, [self.randn(tokens, 2 * ffn)], self.launches),
            self._rotary(max(64, streams)),
            self._decode(streams),
            *(self._row(name, *row) for name, row in self.rows(streams).items()),
            self._step(streams),
            self._encoder(streams),
            self._solver(streams),
        ]

    def _rotary(self, tokens: int) -> Case:
        """Of the language model: a prompt, or as many decodes."""
        sizes = self.config.lm_config
        rotated = sizes.num_attention_heads + sizes.num_key_value_heads
        rope = self.rope(tokens)

        def fused(qkv: Tensor) -> Tensor:
            rotate_(qkv.flatten(1), rotated, qkv.shape[-1], rope)
            return qkv[:, :rotated]

        def plain(modules: Modules, qkv: Tensor) -> Tensor:
            return apply_rotary(qkv[:, :rotated], *rope)

        heads = rotated + sizes.num_key_value_heads
        return Case("rotary, LM", fused, plain, [self.randn(tokens, heads, sizes.head_dim)], self.launches)

    def _decode(self, streams: int) -> Case:
        """A layer of the language model: rotation, storing and attention of one query per stream."""
        sizes = self.config.lm_config
        heads, kv_heads = sizes.num_attention_heads, sizes.num_key_value_heads
        batch = AttentionBatch([CONTEXT - 1] * streams, [1] * streams, [[]] * streams)
        batch, blocks = with_shuffled_tables(batch, BLOCK_SIZE)
        cache = self.randn(2, blocks, BLOCK_SIZE, kv_heads, sizes.head_dim)
        shape = StepShape(num_decodes=streams, max_context=ROOM)
        backends = {
            dtype: TritonBackend(self.device, dtype, BLOCK_SIZE) for dtype in {self.dtype, torch.float32}
        }
        metadata = {dtype: backend.plan(batch, backend.buffers(shape)) for dtype, backend in backends.items()}
        rope = tuple(factor[CONTEXT - 1 :].repeat(streams, 1, 1) for factor in self.rope(CONTEXT))

        def attend(qkv: Tensor, cache: Tensor, rope: CosSin | None) -> Tensor:
            q, k, v = qkv.split([heads, kv_heads, kv_heads], dim=1)
            return backends[qkv.dtype].forward(q, k, v, cache, metadata[qkv.dtype], rope)

        def fused(qkv: Tensor, cache: Tensor) -> Tensor:
            return attend(qkv, cache, rope)

        def plain(modules: Modules, qkv: Tensor, cache: Tensor) -> Tensor:
            rotated = apply_rotary(qkv[:, : heads + kv_heads], *rope)
            return attend(torch.cat([rotated, qkv[:, heads + kv_heads :]], dim=1), cache, None)

        qkv = self.randn(streams, heads + 2 * kv_heads, sizes.head_dim)
        return Case("decode, LM", fused, plain, [qkv, cache], self.launches)

    def _row(
        self, name: str, qkv: Tensor, sizes: TransformerConfig, rope: CosSin | None, keep: slice | None
    ) -> Case:
        heads, kv_heads = sizes.num_attention_heads, sizes.num_key_value_heads

        def plain(modules: Modules, qkv: Tensor) -> Tensor:
            qk, v = qkv.unflatten(-1, (-1, sizes.head_dim)).split([heads + kv_heads, kv_heads], dim=-2)
            q, k = apply_rotary(qk, *rope).split([heads, kv_heads], dim=-2)
            return bidirectional_attention(0, q[:, keep or slice(None)], k, v).flatten(-2)

        def fused(qkv: Tensor) -> Tensor:
            return row_attention(qkv, heads, kv_heads, rope, keep)

        return Case(name, fused, plain, [qkv], self.launches)

    def _step(self, streams: int) -> Case:
        patch, hidden, place = self.config.patch_size, self.plain.dit.hidden_size, self.time_place
        cfg_value = torch.full((streams, 1, 1), CFG_VALUE, device=self.device)

        def fused(x: Tensor, velocity: Tensor, time: Tensor, tokens: Tensor) -> Tensor:
            target = Placement(tokens, self.length - patch, time, place)
            flow_step(x, Step(velocity, cfg_value, STEP_SIZE), self.fused_dit.in_proj, target)
            return tokens

        def plain(modules: Modules, x: Tensor, velocity: Tensor, time: Tensor, tokens: Tensor) -> Tensor:
            x = torch.sub(x, guide(velocity.float(), cfg_value), alpha=STEP_SIZE)
            rows = modules.dit.in_proj(torch.cat([x, x]).to(velocity.dtype))
            times = time[:, None].expand(2 * streams, -1, -1)
            return torch.cat([tokens[:, :place], times, tokens[:, place + 1 : -patch], rows], dim=1)

        shape = (patch, self.config.feat_dim)
        inputs = [
            self.randn(streams, *shape).float(), self.randn(2 * streams, *shape),
            self.randn(1, hidden), self.randn(2 * streams, self.length, hidden),
        ]  # fmt: skip
        return Case("flow step", fused, plain, inputs, self.launches)

    def _encoder(self, streams: int) -> Case:
        patches = self.randn(streams, self.config.patch_size, self.config.feat_dim)
        return Case("encoder", self.fused_encoder, lambda modules, x: modules.encoder(x), [patches], 3)

    def _solver(self, streams: int) -> Case:
        shape = (self.config.patch_size, self.config.feat_dim)
        cfg_value = torch.full((streams, 1, 1), CFG_VALUE, device=self.device)
        solvers = {id(dit): FlowSolver(dit) for dit in (self.fused_dit, self.plain.dit, self.exact.dit)}

        def solve(dit: LocalDiT, noise: Tensor, mu: Tensor, cond: Tensor) -> Tensor:
            return solvers[id(dit)].solve(noise, mu, cond, 10, cfg_value)

        def fused(*inputs: Tensor) -> Tensor:
            return solve(self.fused_dit, *inputs)

        def plain(modules: Modules, *inputs: Tensor) -> Tensor:
            return solve(modules.dit, *inputs)

        mu = self.randn(streams, self.time_place or 1, self.plain.dit.hidden_size)
        inputs = [self.randn(streams, *shape).float(), mu, self.randn(streams, *shape)]
        return Case("solver, 10 steps", fused, plain, inputs, 1)


def _norm(x: Tensor, weight: Tensor) -> Tensor:
    return rms_norm(x, weight, 1e-5)


def _plain_norm(modules: Modules, x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, weight.shape, weight, 1e-5)


def _plain_gate(modules: Modules, gate_up: Tensor) -> Tensor:
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up
