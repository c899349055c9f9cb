"""Which adapters a worker drops when it has as many as it may have."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import torch

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.lora.pool import AdapterPool
from models.lora.rows import LoadedAdapter
from worker.engines.held_adapters import HeldAdapters
from worker.protocol import ADAPTERS, pack_adapter


def received(config: dict[str, Any], weights: bytes) -> Adapter:
    return Adapter({"layer": LowRank(torch.full((1, 2), config["value"]), torch.ones(2, 1))}, 1.0)


def engine_of(limit: int) -> Any:
    pool = AdapterPool(lambda adapter: LoadedAdapter(adapter.digest, {}, torch.device("cpu")), limit)
    info = SimpleNamespace(features=(ADAPTERS,), name="m", revision="1")
    return SimpleNamespace(info=info, adapters=pool, received_adapter=received)


def announced(value: float) -> tuple[bytes, str]:
    body = pack_adapter({"value": value}, b"")
    return body, hashlib.sha256(body).hexdigest()


async def test_one_that_is_here_already_makes_no_other_give_way() -> None:
    engine, held = engine_of(limit=2), HeldAdapters(1 << 20)
    first, second, again = [(await held.take(engine, *announced(value))).digest for value in (1.0, 2.0, 2.0)]
    assert second == again
    assert {info.name for info in engine.adapters.listed()} == {first, second}
    await held.take(engine, *announced(3.0))
    assert engine.adapters.find(first) is None and engine.adapters.find(second) is not None
    held.close()
