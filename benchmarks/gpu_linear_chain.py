"""The chain of linear layers along the transformers of VoxCPM2, of random weights, and its time on a GPU."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from engine.attention.measure import captured
from engine.kernels import skinny_linear as module
from engine.kernels.launch import launch_options
from engine.kernels.skinny_linear import skinny_linear
from engine.kernels.skinny_tiling import Tiling

EPS = 1e-5
ATTENDED = 2048
PRODUCTS = ("qkv", "o", "gate_up", "down")


@dataclasses.dataclass(frozen=True)
class Stack:
    """Sizes of a stack of layers, and the numbers of rows it is run with."""

    name: str
    hidden: int
    ffn: int
    layers: int
    rows: tuple[int, ...]

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


STACKS = (
    Stack("DiT", 1024, 4096, 12, (22, 18, 5, 44, 88)),
    Stack("LM", 2048, 6144, 6, (1, 2, 4, 8, 16)),
)
Tilings = dict[str, Tiling]
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


def run_product(
    product: str, x: Tensor, weight: Tensor, norm: Tensor, residual: Tensor, **options: Any
) -> Tensor:
    if product in ("qkv", "gate_up"):
        return skinny_linear(x, weight, norm=norm, eps=EPS, gated=product == "gate_up", **options)
    return skinny_linear(x, weight, residual=residual, **options)


def run_chain(hidden: Tensor, weights: Weights, norm: Tensor, tilings: Tilings, ahead: int) -> None:
    """Updates `hidden` [M, H]; weights are fetched `ahead` products before they are used, if positive."""
    between, order = hidden, [layer[product] for layer in weights for product in PRODUCTS]
    options = launch_options(hidden.device) if module.launch_options is launch_options else {"PDL": False}
    for index, weight in enumerate(order):
        product = PRODUCTS[index % 4]
        upcoming = order[(index + ahead) % len(order)] if ahead else None
        x = hidden if product in ("qkv", "gate_up") else between
        out = hidden if product in ("o", "down") else None
        between = run_product(
            product, x, weight, norm, hidden, out=out, tiling=tilings[product], upcoming=upcoming
        )
        if product == "qkv":
            attended = hidden.new_empty(len(hidden), ATTENDED)
            stand_in_kernel[(len(hidden),)](between, attended, SIZE=ATTENDED, WIDTH=2560, **options)
            between = attended


def run_torch(hidden: Tensor, weights: Weights, norm: Tensor) -> None:
    for layer in weights:
        qkv = F.linear(F.rms_norm(hidden, norm.shape, norm, EPS), layer["qkv"])
        hidden.addmm_(qkv[:, :ATTENDED].contiguous(), layer["o"].T)
        normed = F.rms_norm(hidden, norm.shape, norm, EPS)
        gate, up = F.linear(normed, layer["gate_up"]).chunk(2, dim=-1)
        hidden.addmm_(F.silu(gate) * up, layer["down"].T)


@contextmanager
def launched_plainly() -> Iterator[None]:
    module.launch_options = lambda device: {"PDL": False}
    try:
        yield
    finally:
        module.launch_options = launch_options


def seconds(run: Callable[[], None], repeats: int = 7, runs: int = 6) -> float:
    """Median time of `run` as a CUDA graph."""
    replay = captured(run, torch.device("cuda"))
    replay()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(runs):
            replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / runs)
    return statistics.median(times)


def reference(product: str, x: Tensor, weight: Tensor, norm: Tensor, residual: Tensor) -> Tensor:
    if product in ("o", "down"):
        return torch.addmm(residual, x, weight.T)
    result = F.linear(F.rms_norm(x, norm.shape, norm, EPS), weight)
    if product == "qkv":
        return result
    gate, up = result.chunk(2, dim=-1)
    return F.silu(gate) * up


class Chain:
    """The layers of a stack for `rows` rows, on hidden states that every run begins with anew."""

    def __init__(self, stack: Stack, rows: int, weights: Weights) -> None:
        self.weights, self.layers = weights, len(weights)
        generator = torch.Generator("cuda").manual_seed(rows)
        options = {"dtype": torch.bfloat16, "device": "cuda"}
        self.start = torch.randn(rows, stack.hidden, generator=generator, **options)
        self.norm = torch.rand(stack.hidden, generator=generator, **options) + 0.5
        self.hidden = self.start.clone()

    def run(self, tilings: Tilings, ahead: int = 0) -> None:
        torch.mul(self.start, 1.0, out=self.hidden)
        run_chain(self.hidden, self.weights, self.norm, tilings, ahead)

    def run_torch(self) -> None:
        torch.mul(self.start, 1.0, out=self.hidden)
        run_torch(self.hidden, self.weights, self.norm)

    def seconds(self, tilings: Tilings, ahead: int = 0) -> float:
        """Time of a layer."""
        return seconds(lambda: self.run(tilings, ahead)) / self.layers

    def measure(self, tilings: Tilings) -> tuple[dict[str, float], bool]:
        """Seconds of a layer by each way to launch, and whether their results are equal."""
        results, times = [], {}
        times["torch"] = seconds(self.run_torch) / self.layers
        exact = self.hidden.float()
        with launched_plainly():
            times["plain"] = self.seconds(tilings)
            results.append(self.hidden.clone())
        for ahead in (0, 1, 2):
            times[f"pdl+{ahead}" if ahead else "pdl"] = self.seconds(tilings, ahead)
            results.append(self.hidden.clone())
        near = float((results[0].float() - exact).norm() / exact.norm()) < 0.05
        return times, near and all(torch.equal(result, results[0]) for result in results)
