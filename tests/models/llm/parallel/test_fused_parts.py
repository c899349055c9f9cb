"""The form for GPUs in parts: summed over ranks it computes what the whole stack computes. Ranks are
threads, one of which runs at a time, since Triton's interpreter is for one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from engine.kernels.linear.split_tiling import MAX_ROWS
from engine.parallel.part import Part
from engine.weights import export_state, load_into
from models.qwen3.config import Qwen3Config
from models.transformer import overlapped
from models.transformer.fused import fuse_layers
from models.transformer.stack import Transformer, bidirectional_attention
from tests.models.llm.parallel.rank_threads import SIZE, TakingTurns, Turns

ANY = range(1 << 20)
CONFIG = Qwen3Config(
    vocab_size=4,
    hidden_size=48,
    intermediate_size=96,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    head_dim=32,
)


@pytest.mark.parametrize(
    ("limits", "chunk_rows", "shape", "keep"),
    [
        ((0, ()), 1024, (2, 5), None),
        ((0, (ANY,)), 1024, (2, 5), None),
        ((MAX_ROWS, ()), 1024, (2, 5), None),
        ((0, ()), 4, (19,), None),
        ((0, ()), 10, (21,), None),
        ((0, ()), 10, (21,), torch.tensor([20, 3])),
        ((0, ()), 1024, (7,), torch.tensor([6, 0])),
    ],
    ids=["plain", "halved", "few rows", "four chunks", "two chunks", "ends of two chunks", "ends"],
)
def test_a_fused_stack_in_parts_computes_what_the_whole_computes(
    limits: tuple,
    chunk_rows: int,
    shape: tuple[int, ...],
    keep: Tensor | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(overlapped, "CHUNK_ROWS", chunk_rows)
    torch.manual_seed(1)
    plain, turns = Transformer(CONFIG).eval().requires_grad_(False), Turns()
    for name, parameter in plain.named_parameters():
        parameter.normal_(*((1.0, 0.3) if "norm" in name else (0.0, 0.15)))
    x, rope, state = torch.randn(*shape, 48), plain.cos_sin(torch.arange(shape[-1])), export_state(plain)

    @torch.inference_mode()
    def run(rank: int) -> Tensor:
        with turns.baton:
            part = Transformer(CONFIG, part=Part(rank, SIZE, TakingTurns(rank, turns))).eval()
            load_into(part.requires_grad_(False), state)
            assert part.layers[0].self_attn.qkv_proj.weight.shape == (2 * 32 + 2 * 32, 48)
            fuse_layers(part, *limits)
            return part(x, rope, attention, keep)

    with ThreadPoolExecutor(SIZE) as threads, torch.inference_mode():
        expected = plain(x, rope, attention, keep)
        for found in threads.map(run, range(SIZE)):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def attention(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Over all rows of a flat batch, or over each row of a batch of them."""
    if q.dim() == 4:
        return bidirectional_attention(layer, q, k, v)
    return bidirectional_attention(layer, q[None], k[None], v[None])[0]
