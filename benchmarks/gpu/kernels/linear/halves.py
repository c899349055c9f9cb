"""Fused layers of VoxCPM2 by rows: residuals added by whole products, and products in two halves of K.

    python3 -m benchmarks.gpu.kernels.linear.halves [--output FILE]

Prints microseconds of a layer, attention over short rows included, and for which numbers of rows halves are
taken (`engine.kernels.linear.halved_linear.PAYING_ROWS`). Whole products have rows to spare (`spare_rows`).
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.gpu.device import device_of
from benchmarks.gpu.kernels.linear.chain import ATTENDED, DIT, LM, Stack
from benchmarks.gpu.kernels.timing import seconds
from engine.kernels.linear.halved_linear import paying_rows
from models.transformer.fused import fuse_layers
from models.transformer.stack import Transformer, bidirectional_attention
from models.voxcpm.config import RopeScaling, TransformerConfig

HEAD_DIM, KV_HEADS, LENGTH = 128, 2, 11
ROWS = {
    "DiT": (66, 88, 110, 132, 176, 264, 352, 528, 704, 880, 1056, 1232, 1320, 1408, 1760, 2112, 2816, 5632),
    "LM": (66, 88, 132, 176, 220, 264, 352, 517, 704, 880, 1056, 1408, 2816),
}
ALWAYS = range(1, 1 << 20)
DEVICE = "cuda"


def stack_of(shape: Stack) -> Transformer:
    config = TransformerConfig(
        hidden_size=shape.hidden,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=ATTENDED // HEAD_DIM,
        num_key_value_heads=KV_HEADS,
        kv_channels=HEAD_DIM,
        max_position_embeddings=LENGTH,
        rope_scaling=RopeScaling((), (), LENGTH),
        no_rope=True,
        use_mup=False,
    )
    with torch.device(DEVICE):
        stack = Transformer(config).to(torch.bfloat16)
    for name, parameter in stack.named_parameters():
        parameter.fill_(1.0) if "norm" in name else parameter.normal_(0.0, parameter.shape[-1] ** -0.5)
    return stack.eval()


def compare(shape: Stack) -> list[dict[str, Any]]:
    plain, rows = stack_of(shape), []
    forms: dict[str, tuple[range, ...]] = {"whole": (), "halves": (ALWAYS,)}
    stacks = {}
    for name, halved_rows in forms.items():
        stacks[name] = copy.deepcopy(plain)
        fuse_layers(stacks[name], few_rows=0, halved_rows=halved_rows)
    paying = paying_rows(shape.hidden)
    for count in ROWS[shape.name]:
        x = torch.randn(-(-count // LENGTH), LENGTH, shape.hidden, device=DEVICE, dtype=torch.bfloat16)
        row: dict[str, Any] = {"stack": shape.name, "rows": x[..., 0].numel()}
        for name, stack in stacks.items():
            row[f"{name}_us"] = layer_us(stack, x)
        row["taken"] = "halves" if any(row["rows"] in pay for pay in paying) else "whole"
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows


def layer_us(stack: Transformer, x: Tensor) -> float:
    """Microseconds of a layer for x [rows, length, hidden]."""
    return round(1e6 * seconds(lambda: stack(x, None, bidirectional_attention)) / len(stack.layers), 2)


@torch.inference_mode()
def report(description: str, parts: Mapping[str, Callable[..., Any]], shapes: Sequence[str] = ()) -> None:
    """The command of a benchmark that prints what each part measures, and keeps it.

    shapes: of which parts measure the one that is asked for, the first where none is.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where the results go, as JSON")
    if shapes:
        parser.add_argument("--shape", choices=shapes, default=shapes[0])
    chosen = parser.parse_args()
    device_of()
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    of_shape = {"shape": chosen.shape} if shapes else {}
    found |= of_shape | {name: part(**of_shape) for name, part in parts.items()}
    if chosen.output:
        chosen.output.parent.mkdir(parents=True, exist_ok=True)
        chosen.output.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    report(__doc__, {"layers": lambda: [row for shape in (DIT, LM) for row in compare(shape)]})
