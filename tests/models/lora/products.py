"""Products of a small model, adapters of them, and whether a slot holds one."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.lora.bank import AdapterBank

STACK = [
    {"a.0.q": (6, 8), "a.0.k": (2, 8), "a.0.v": (2, 8)},
    {"a.0.o": (8, 6)},
    {"a.0.gate": (5, 8), "a.0.up": (5, 8)},
    {"a.0.down": (8, 5)},
    {"a.1.q": (6, 8), "a.1.k": (2, 8), "a.1.v": (2, 8)},
    {"a.1.o": (8, 6)},
    {"a.1.gate": (5, 8), "a.1.up": (5, 8)},
    {"a.1.down": (8, 5)},
]
PRODUCTS = {"a": STACK, "proj": [{"proj": (4, 3)}]}
SIZES = {name: size for numbered in PRODUCTS.values() for parts in numbered for name, size in parts.items()}


def adapter_of(*names: str, rank: int = 4, seed: int = 0) -> Adapter:
    torch.manual_seed(seed)
    layers = {
        name: LowRank(torch.randn(rank, SIZES[name][1]), torch.randn(SIZES[name][0], rank)) for name in names
    }
    return Adapter(layers, 0.5)


def held(bank: AdapterBank, adapter: Adapter, slot: int) -> bool:
    """Whether a slot holds an adapter, with its scale, and zeros beside it."""
    layout, row = bank.generation.layout, bank.generation.storage[slot]
    expected: dict[str, Tensor] = {name: layer.up @ layer.down for name, layer in adapter.scaled()}
    for module, numbered in PRODUCTS.items():
        for number, parts in enumerate(numbered):
            if (module, number) not in layout.places:
                if not expected.keys().isdisjoint(parts):
                    return False
                continue
            downs, ups = layout.views(row, (module, number))
            sizes = [size[0] for size in parts.values()]
            for (name, size), down, up in zip(parts.items(), downs, ups.split(sizes), strict=True):
                if not torch.allclose(up @ down, expected.get(name, torch.zeros(size)), atol=1e-5):
                    return False
    return True
