"""Random traffic with adapters that come to slots early, push each other out, need larger slots, and go into
the weights: each request gets what it gets alone.

Everything is real but the device and the kernels that write weights.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from engine.config import EngineConfig
from engine.kernels.low_rank.into_weights import WeightParts
from engine.layers.low_rank import LowRank
from engine.llm_engine import LLMEngine, SequenceOutput
from engine.sequence import Sequence
from models.lora import in_weights as in_weights_module
from models.lora.adapter import Adapter
from models.lora.bank import AdapterBank
from models.lora.early_copies import EarlyCopies
from tests.models.lora.products import PRODUCTS, SIZES, adapter_of
from tests.models.programs.device_of_dictionaries import (
    NUM_STEPS,
    Device,
    State,
    Streams,
    alone,
    trailing_patches,
)
from tests.models.programs.random_traffic import changes, check_each_alone

ADAPTED = "a.0.q"
KIND = ("a", 0)
"""The product whose first part that is."""
NOTHING_IN_SLOTS = Adapter({"decoder": LowRank(torch.ones(1, 1), torch.ones(1, 1))}, 1.0)
ADAPTERS = [
    adapter_of(ADAPTED, seed=1),
    adapter_of(ADAPTED, "a.0.k", seed=2),
    adapter_of(ADAPTED, "proj", rank=20, seed=3),
    adapter_of(ADAPTED, "a.1.down", rank=40, seed=4),
    NOTHING_IN_SLOTS,
]


def mark_of(added: Tensor) -> float:
    """Of a product's matrix, or of what is added to it."""
    return round(float(added[0, 0]), 2) + 0.0


def mark_of_adapter(adapter: Adapter | None) -> float:
    layer = dict(adapter.scaled()).get(ADAPTED) if adapter is not None else None
    return 0.0 if layer is None else mark_of(layer.up @ layer.down)


class EarlyEngine(LLMEngine):
    """Fetches adapters as `VoxCPMEngine` does, which loads one as late as its request comes here."""

    def __init__(self, device: Device, bank: AdapterBank, config: EngineConfig) -> None:
        super().__init__(device, config)  # type: ignore[arg-type]
        self.bank, self.early_copies = bank, EarlyCopies(bank, self.scheduler)

    def add(self, sequence: Sequence) -> None:
        if sequence.payload.adapter is not None:
            sequence.payload.adapter = self.bank.load(sequence.payload.adapter)
        super().add(sequence)
        self.early_copies.begin(sequence)

    def step(self) -> list[SequenceOutput]:
        outputs = super().step()
        self.early_copies.go_on()
        return outputs

    def resume(self, request_id: str) -> bool:
        found, sequence = super().resume(request_id), self.scheduler.get(request_id)
        if sequence is not None:
            self.early_copies.begin(sequence)
        return found


def add_into_weights(parts: WeightParts, matrices: Tensor) -> None:
    for (weight, base), place in zip(parts._kept, parts.places.tolist(), strict=True):
        down, up, outputs, inputs = place[2:6]
        matrix = matrices[up : up + outputs * parts.rank].view(outputs, parts.rank)
        weight.copy_(base + matrix @ matrices[down : down + parts.rank * inputs].view(parts.rank, inputs))


def restore_weights(parts: WeightParts) -> None:
    for weight, base in parts._kept:
        weight.copy_(base)


def adapted_device(num_blocks: int, block_size: int, streams: Streams, host_slots: int, slots: int) -> Device:
    """With weights of zeros, in which an adapter is all there is."""
    weights = {
        (module, number): torch.zeros(sum(size[0] for size in parts.values()), SIZES[next(iter(parts))][1])
        for module, numbered in PRODUCTS.items()
        for number, parts in enumerate(numbered)
    }
    bank = AdapterBank(PRODUCTS, torch.float32, torch.device("cpu"), slots, weights)

    def mark(slot: int) -> float:
        in_weights = mark_of(weights[KIND])
        if slot < 0:
            return in_weights
        assert not in_weights, "added twice"
        down, up = bank.generation.layout.views(bank.generation.storage[slot], KIND)
        return mark_of(up[: SIZES[ADAPTED][0]] @ down[0])

    return Device(num_blocks, block_size, streams, host_slots=host_slots, bank=bank, mark=mark)


requests = st.lists(
    st.tuples(
        st.lists(st.sampled_from([0, 1, b"a"]), min_size=1, max_size=9),
        st.integers(1, 12),
        st.sampled_from([NUM_STEPS, NUM_STEPS, NUM_STEPS, 4]),
        st.integers(0, 6),
        st.sampled_from([None, ADAPTERS[0], *ADAPTERS]),
    ),
    min_size=2,
    max_size=7,
)


@pytest.mark.parametrize("block_size", [1, 4])
@settings(max_examples=max(200, settings.default.max_examples))
@given(
    requests=requests,
    changes=changes,
    spare_blocks=st.integers(0, 4),
    max_num_seqs=st.integers(1, 4),
    max_decodes=st.none() | st.integers(1, 2),
    host_slots=st.sampled_from([0, 3, 40]),
    slots=st.integers(1, 3),
    launches_before=st.sampled_from([0, 1, 3, 100]),
)
def test_any_traffic_gives_each_request_its_own_adapter(
    block_size: int,
    requests: list[tuple[list[int | bytes], int, int, int, Adapter | None]],
    changes: list[tuple[int, str, int]],
    spare_blocks: int,
    max_num_seqs: int,
    max_decodes: int | None,
    host_slots: int,
    slots: int,
    launches_before: int,
) -> None:
    """launches_before: one goes into the weights."""
    num_blocks = -(-20 // block_size) + spare_blocks
    device = adapted_device(num_blocks, block_size, Streams(max_num_seqs), host_slots, slots)
    bank = device.bank
    assert bank is not None
    config = EngineConfig(
        num_blocks=num_blocks,
        block_size=block_size,
        max_model_len=device.max_model_len,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_seqs + 8,
        max_decodes=max_decodes,
        max_prefill_tokens=5,
        look_ahead=True,
    )
    engine = EarlyEngine(device, bank, config)
    expected, arrivals = {}, []
    for number, (prompt, count, num_steps, arrival, adapter) in enumerate(requests):
        state = State(number, count, num_steps, adapter=adapter)
        expected[str(number)] = alone(prompt, state, mark_of_adapter(adapter))
        salt = b"" if adapter is None else adapter.digest.encode()
        resumed = trailing_patches(prompt) if number % 2 else 0
        sequence = Sequence(
            str(number), prompt, count, state, salt, token_seconds=number % 2, num_resumed_tokens=resumed
        )
        arrivals.append((arrival, sequence))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_weights_module, "LAUNCHES_BEFORE", launches_before)
        for function in (add_into_weights, restore_weights):
            patch.setattr(in_weights_module, function.__name__, function)
        check_each_alone(engine, arrivals, changes, expected, lambda result: (result.token, result.output))
    assert sorted([*bank._free, *bank._slots.values()]) == list(range(slots))
    assert sorted(device.streams._free) == list(range(max_num_seqs))
    assert engine.scheduler.block_manager.num_free_blocks == num_blocks
    assert not device.ahead._kept and not device.served_freely
