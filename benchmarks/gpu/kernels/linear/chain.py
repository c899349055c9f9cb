"""The chain of linear layers along the transformers of VoxCPM2, of random weights, and its time on a GPU."""

from __future__ import annotations

import dataclasses

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from benchmarks.gpu.kernels.timing import seconds
from engine.kernels import launch
from engine.kernels.linear.split_linear import partial_linear, split_linear
from engine.kernels.linear.split_tiling import SplitTiling
from engine.kernels.norms.add_and_norm import add_and_norm
from engine.kernels.norms.norm import rms_norm

EPS = 1e-5
ATTENDED = 2048
PRODUCTS = ("qkv", "o", "gate_up", "down")


@dataclasses.dataclass(frozen=True)
class Stack:
    """Sizes of a stack of layers."""

    name: str
    hidden: int
    ffn: int
    layers: int

    def shape(self, product: str) -> tuple[int, int]:
        """Outputs (pairs for gate_up) and inputs."""
        return {
            "qkv": (2560, self.hidden),
            "o": (self.hidden, ATTENDED),
            "gate_up": (self.ffn, self.hidden),
            "down": (self.hidden, self.ffn),
        }[product]

    def num_bytes(self, product: str) -> int:
        outputs, size = self.shape(product)
        return 2 * outputs * size * (1 + (product == "gate_up"))


DIT, LM = Stack("DiT", 1024, 4096, 12), Stack("LM", 2048, 6144, 6)
Tilings = dict[str, SplitTiling]
Weights = list[dict[str, Tensor]]


@triton.jit
def stand_in_kernel(qkv, out, SIZE: tl.constexpr, WIDTH: tl.constexpr, PDL: tl.constexpr):
    """In place of attention: copies SIZE of the WIDTH channels of a row."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()
    row, channel = tl.program_id(0), tl.arange(0, SIZE)
    tl.store(out + row * SIZE + channel, tl.load(qkv + row * WIDTH + channel))


def random_weights(stack: Stack, layers: int, device: str = "cuda") -> Weights:
    def one(product: str) -> Tensor:
        outputs, size = stack.shape(product)
        rows = outputs * (1 + (product == "gate_up"))
        return torch.randn(rows, size, dtype=torch.bfloat16, device=device) * size**-0.5

    return [{product: one(product) for product in PRODUCTS} for _ in range(layers)]


def kind(product: str) -> tuple[bool, bool]:
    """Whether a product is gated, and whether K may be shared out."""
    return product == "gate_up", product in ("o", "down")


def run_product(product: str, x: Tensor, weight: Tensor, tiling: SplitTiling | None = None) -> Tensor:
    gated, split = kind(product)
    if split:
        return partial_linear(x, weight, tiling=tiling)
    return split_linear(x, weight, gated=gated, tiling=tiling)


def run_chain(hidden: Tensor, weights: Weights, norm: Tensor, tilings: Tilings) -> Tensor:
    """hidden [M, H] after the layers, each with its norms of weight `norm` and the stand-in for attention."""
    options = launch.launch_options(hidden.device)
    normed = rms_norm(hidden, norm, EPS)
    for layer in weights:
        qkv = run_product("qkv", normed, layer["qkv"], tilings["qkv"])
        attended = hidden.new_empty(len(hidden), ATTENDED)
        stand_in_kernel[(len(hidden),)](qkv, attended, SIZE=ATTENDED, WIDTH=2560, **options)
        partials = run_product("o", attended, layer["o"], tilings["o"])
        hidden, normed = add_and_norm(partials, hidden, norm, EPS)
        gated = run_product("gate_up", normed, layer["gate_up"], tilings["gate_up"])
        partials = run_product("down", gated, layer["down"], tilings["down"])
        hidden, normed = add_and_norm(partials, hidden, norm, EPS)
    return hidden


def run_torch(hidden: Tensor, weights: Weights, norm: Tensor) -> None:
    for layer in weights:
        qkv = F.linear(F.rms_norm(hidden, norm.shape, norm, EPS), layer["qkv"])
        hidden.addmm_(qkv[:, :ATTENDED].contiguous(), layer["o"].T)
        normed = F.rms_norm(hidden, norm.shape, norm, EPS)
        gate, up = F.linear(normed, layer["gate_up"]).chunk(2, dim=-1)
        hidden.addmm_(F.silu(gate) * up, layer["down"].T)


def reference(product: str, x: Tensor, weight: Tensor, norm: Tensor, residual: Tensor) -> Tensor:
    if product in ("o", "down"):
        return torch.addmm(residual, x, weight.T)
    result = F.linear(F.rms_norm(x, norm.shape, norm, EPS), weight)
    if product == "qkv":
        return result
    gate, up = result.chunk(2, dim=-1)
    return F.silu(gate) * up


class Chain:
    """The layers of a stack for `rows` rows, on the same hidden states every time."""

    def __init__(self, stack: Stack, rows: int, weights: Weights) -> None:
        self._weights = weights
        generator = torch.Generator("cuda").manual_seed(rows)
        options = {"dtype": torch.bfloat16, "device": "cuda"}
        self._start = torch.randn(rows, stack.hidden, generator=generator, **options)
        self._norm = torch.rand(stack.hidden, generator=generator, **options) + 0.5
        self._result = self._start.clone()

    def seconds(self, tilings: Tilings | None) -> tuple[float, Tensor]:
        """Time of a layer, by torch if there are no tilings, and the hidden states after the last."""

        def run() -> None:
            if tilings:
                result = run_chain(self._start, self._weights, self._norm, tilings)
                torch.mul(result, 1.0, out=self._result)
            else:
                torch.mul(self._start, 1.0, out=self._result)
                run_torch(self._result, self._weights, self._norm)

        return seconds(run, repeats=5, runs=4) / len(self._weights), self._result.clone()
