"""A transformer layer for inference on CUDA: the arithmetic of `TransformerLayer` in seven or eight kernels.

Norms, rotation, attention over short rows and the MLP's gate are one Triton kernel each, and residuals are
added by the products that make them. Where products are shared out over K, as few rows want it, the sum of
the parts, the residual and the norm that follows are one kernel, so that a layer gives normalised rows to the
next. With very few rows, and with many, the gate is part of its product, too. Sums, and everything within a
kernel, are fp32; the weights are those of the layer, not copies.

    fuse_layers(model)        # inference only
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from engine.attention import PagedAttention
from engine.attention.backend import HeadNorms
from engine.kernels.hopper import linear as hopper
from engine.kernels.linear.halved_linear import paying_rows
from engine.kernels.linear.spare_rows import add_linear_, empty_with_spare
from engine.kernels.linear.split_linear import fits as fits_few_rows
from engine.kernels.linear.split_tiling import MAX_ROWS
from engine.kernels.low_rank.around import with_low_rank
from engine.kernels.low_rank.delta import Delta
from engine.kernels.low_rank.slots import LowRankRows
from engine.kernels.norms.add_and_norm import add_and_norm
from engine.kernels.norms.norm import rms_norm
from engine.kernels.rotary import rotate_
from engine.kernels.row_attention import fits, row_attention, row_attention_and_shrink, shrinks
from engine.layers.norm import RMSNorm
from engine.parallel.layers import group_of
from models.transformer.overlapped import pays, run_overlapped
from models.transformer.products import (
    GATED,
    HALVED,
    LINEAR,
    NOTHING,
    PLAIN,
    SPLIT,
    ProductDeltas,
    SharedProducts,
)
from models.transformer.rehearsal import to_run
from models.transformer.stack import (
    DOWN,
    GATE_UP,
    OUTPUT,
    QKV,
    Attention,
    CosSin,
    GatedMLP,
    Keep,
    Transformer,
    TransformerLayer,
    bidirectional_attention,
    kept_places,
)


class FusedLayer(nn.Module):
    """Takes the place of a `TransformerLayer`.

    Args:
        place: in its stack; the first layer leaves its input alone.
    """

    def __init__(self, layer: TransformerLayer, place: int) -> None:
        super().__init__()
        attention = layer.self_attn
        self.layer, self.place = attention.layer, place
        self.num_heads, self.num_kv_heads = attention.num_heads, attention.num_kv_heads
        self.head_dim = attention.head_dim
        self.residual_scale = layer.residual_scale
        self.group = group_of(attention.o_proj)
        self.head_norms = None
        if attention.qk_norm:
            q_norm, k_norm = attention.q_norm, attention.k_norm
            self.head_norms = HeadNorms(q_norm.weight, k_norm.weight, q_norm.eps)
        self.input_layernorm = FusedRMSNorm(layer.input_layernorm)
        self.post_attention_layernorm = FusedRMSNorm(layer.post_attention_layernorm)
        self.qkv, self.output = attention.qkv_proj.weight, attention.o_proj.weight
        self.gate_up, self.down = layer.mlp.gate_up_proj.weight, layer.mlp.down_proj.weight

    def forward(
        self,
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None = None,
        deltas: ProductDeltas = NOTHING,
    ) -> Tensor:
        """See `TransformerLayer.forward`."""
        place, normed = self.place, self.input_layernorm(x)
        qkv = LINEAR(normed, self.qkv, deltas.of(place, QKV))
        attended, adds = self._attended(qkv, rope, attention, keep, deltas.of(place, OUTPUT))
        if keep is not None or self.place == 0:
            kept = x if keep is None else x[..., keep, :]
            x = empty_with_spare(kept.shape, kept).copy_(kept)
        self._add_product(x, attended, self.output, adds)
        normed = self.post_attention_layernorm(x)
        gated = GATED(normed, self.gate_up, deltas.of(place, GATE_UP))
        self._add_product(x, gated, self.down, deltas.of(place, DOWN))
        return x

    def shared(
        self,
        products: SharedProducts,
        x: Tensor,
        normed: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None,
        following: FusedRMSNorm,
        deltas: ProductDeltas,
    ) -> tuple[Tensor, Tensor]:
        """`forward` by `products`, given the input norm, too; -> the result and its norm `following`."""
        place = self.place
        qkv = products.whole(normed, self.qkv, deltas.of(place, QKV))
        attended, adds = self._attended(qkv, rope, attention, keep, deltas.of(place, OUTPUT))
        residual = x if keep is None else x[..., keep, :]
        parts = products.parts(attended, self.output, adds)
        x, normed = self._added(*parts, residual, self.post_attention_layernorm)
        gated = products.gated(normed, self.gate_up, deltas.of(place, GATE_UP))
        return self._added(*products.parts(gated, self.down, deltas.of(place, DOWN)), x, following)

    def _added(
        self, parts: Tensor, delta: Delta | None, residual: Tensor, norm: FusedRMSNorm
    ) -> tuple[Tensor, Tensor]:
        """residual + scale * (the sum of parts and delta), and the norm of that.

        Raises RuntimeError for a delta over ranks, each of which would add it.
        """
        if self.group is None:
            return add_and_norm(parts, residual, norm.weight, norm.eps, self.residual_scale, delta)
        if delta is not None:
            raise RuntimeError("a model over ranks has no adapters")
        return self.group.add_and_norm(parts, residual, norm.weight, norm.eps, self.residual_scale)

    def attend(self, qkv: Tensor, rope: CosSin | None, attention: Attention, keep: Keep | None) -> Tensor:
        """Attention over rows [N, L, C] or, in whatever way `attention` goes about it, over a flat batch."""
        return self._attended(qkv, rope, attention, keep, None)[0]

    def _attended(
        self,
        qkv: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None,
        adds: LowRankRows | None,
    ) -> tuple[Tensor, LowRankRows | None]:
        """`attend`, and what is added to the product of the result, with what attention makes for it."""
        norms, paged = self.head_norms, isinstance(attention, PagedAttention)
        in_rows = (
            attention is bidirectional_attention and qkv.dim() == 3 and fits(qkv.shape[1], self.head_dim)
        )
        rotates = in_rows or (paged and attention.rotates)
        if norms is not None and not (paged and attention.normalises):
            self._rotate(qkv, rope, norms)
            rope, norms = None, None
        elif rope is not None and not rotates:
            self._rotate(qkv, rope, None)
            rope = None
        if in_rows:
            of_rows = (qkv, self.num_heads, self.num_kv_heads, rope, keep)
            if adds is None or self._adds_in_product(qkv, keep, adds) or not shrinks(qkv, keep, adds):
                return row_attention(*of_rows), adds
            return row_attention_and_shrink(*of_rows, adds)
        heads = qkv.unflatten(-1, (-1, self.head_dim))
        q, k, v = heads.split([self.num_heads, self.num_kv_heads, self.num_kv_heads], dim=-2)
        if isinstance(keep, slice):
            q = q[..., keep, :, :]
        of_pages = (rope, norms) if paged else ()
        return kept_places(attention(self.layer, q, k, v, *of_pages).flatten(-2), keep), adds

    def _adds_in_product(self, qkv: Tensor, keep: Keep | None, adds: LowRankRows) -> bool:
        """Whether the product of all rows adds what adapters do, so that attention need not begin it."""
        return keep is None and hopper.serves(len(qkv) * qkv.shape[1], self.output, adds, residual=True)

    def _rotate(self, qkv: Tensor, rope: CosSin | None, norms: HeadNorms | None) -> None:
        """Queries and keys of qkv [..., C] in place: normalised, then rotated."""
        if rope is not None:
            cos, sin = rope
            rope = tuple(part.expand(*qkv.shape[:-1], -1, -1).flatten(0, -3) for part in (cos, sin))
        heads = self.num_heads + self.num_kv_heads
        rotate_(qkv.view(-1, qkv.shape[-1]), heads, self.head_dim, rope, norms, self.num_heads)

    def _add_product(self, x: Tensor, update: Tensor, weight: Tensor, low_rank: LowRankRows | None) -> None:
        rows, update = x.view(-1, x.shape[-1]), update.reshape(-1, update.shape[-1])

        def product() -> Tensor:
            add_linear_(rows, update, weight, self.residual_scale)
            return rows

        if low_rank is None:
            product()
        elif hopper.serves(len(update), weight, low_rank, residual=True):
            hopper.add_linear_with_adapters_(rows, update, weight, low_rank, self.residual_scale)
        else:
            with_low_rank(product, update, low_rank, self.residual_scale, beside=True)


def fused_weights(stack: Transformer) -> list[Tensor]:
    """What the products of a stack of fused layers multiply by, `QKV` to `DOWN` of each layer in turn."""
    products = ((layer.qkv, layer.output, layer.gate_up, layer.down) for layer in stack.layers)
    return [weight for of_layer in products for weight in of_layer]


class FusedRMSNorm(RMSNorm):
    """`RMSNorm` in one kernel."""

    def __init__(self, norm: RMSNorm) -> None:
        super().__init__(norm.hidden_size, norm.eps)
        self.weight = norm.weight

    def forward(self, x: Tensor) -> Tensor:
        """See `RMSNorm.forward`."""
        return rms_norm(x, self.weight, self.eps)


class FusedStack:
    """Runs a stack of fused layers, in the form that suits the number of rows; see `fuse_layers`."""

    def __init__(self, stack: Transformer, few_rows: int, halved_rows: tuple[range, ...]) -> None:
        self._layers: list[FusedLayer] = list(stack.layers)
        self._norm, self._few_rows = stack.norm, few_rows
        odd = any(size % 2 for layer in self._layers for size in (layer.output.shape[1], layer.down.shape[1]))
        self._halved_rows = () if odd else halved_rows
        self._over_ranks = self._layers[0].group is not None

    def run(
        self,
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None,
        deltas: ProductDeltas = NOTHING,
    ) -> Tensor:
        """See `Transformer.forward`."""
        num_rows, layers = x[..., 0].numel(), to_run(self._layers)
        if self._over_ranks and x.dim() == 2 and not isinstance(keep, slice) and pays(num_rows):
            return kept_places(run_overlapped(layers, self._norm, x, rope, attention), keep)
        products = self._products(num_rows)
        if products is not None:
            return self._run_shared(products, layers, x, rope, attention, keep, deltas)
        for layer in layers[:-1]:
            x = layer(x, rope, attention, None, deltas)
        return self._norm(layers[-1](x, rope, attention, keep, deltas))

    def _products(self, num_rows: int) -> SharedProducts | None:
        if 0 < num_rows <= self._few_rows and fits_few_rows(num_rows, self._layers[0].qkv):
            return SPLIT
        if any(num_rows in rows for rows in self._halved_rows):
            return HALVED
        return PLAIN if self._over_ranks and num_rows else None

    def _run_shared(
        self,
        products: SharedProducts,
        layers: Sequence[FusedLayer],
        x: Tensor,
        rope: CosSin | None,
        attention: Attention,
        keep: Keep | None,
        deltas: ProductDeltas,
    ) -> Tensor:
        normed, last = layers[0].input_layernorm(x), layers[-1]
        norms = [*(layer.input_layernorm for layer in layers[1:]), self._norm]
        for layer, norm in zip(layers, norms, strict=True):
            kept = keep if layer is last else None
            x, normed = layer.shared(products, x, normed, rope, attention, kept, norm, deltas)
        return normed


def fuse_layers(
    model: nn.Module, few_rows: int = MAX_ROWS, halved_rows: tuple[range, ...] | None = None
) -> None:
    """Put fused layers and norms into every transformer of dense layers below `model`; the weights stay where
    they are.

    Args:
        few_rows: up to how many rows (tokens) products are those of `split_linear`, if that pays.
        halved_rows: for how many they are `halved_linear`'s; None: for those that it is known to pay for.
    """
    for module in list(model.modules()):
        if isinstance(module, Transformer) and all(isinstance(x.mlp, GatedMLP) for x in module.layers):
            module.layers = nn.ModuleList(
                FusedLayer(layer, place) for place, layer in enumerate(module.layers)
            )
            module.norm = FusedRMSNorm(module.norm)
            whole = module.layers[0].group is None
            known = paying_rows(module.norm.hidden_size, whole) if halved_rows is None else halved_rows
            module.run = FusedStack(module, few_rows, known).run
