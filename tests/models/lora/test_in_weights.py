"""An adapter that everybody has goes into the weights, and leaves them as they were."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import torch

from models.lora import in_weights as in_weights_module
from models.lora.bank import AdapterBank, SlotAdapter
from models.lora.in_weights import LAUNCHES_BEFORE, LAUNCHES_BETWEEN_TRIES, SPARE_BYTES, InWeights
from models.lora.layout import Kind
from models.voxcpm.engine import VoxCPMEngine
from tests.models.conftest import assert_close, latents, run
from tests.models.lora.conftest import ADAPTED, Fused, clip, random_adapter
from tests.models.lora.plan import PLAN
from tests.models.lora.products import PRODUCTS, SIZES, adapter_of

Weights = dict[Kind, torch.Tensor]
NAMES = ("a.0.q", "a.0.v", "a.1.o", "a.1.gate", "a.0.down", "proj")


@pytest.fixture
def weights() -> Weights:
    torch.manual_seed(1)
    return {
        (module, number): torch.randn(sum(size[0] for size in parts.values()), next(iter(parts.values()))[1])
        for module, numbered in PRODUCTS.items()
        for number, parts in enumerate(numbered)
    }


@pytest.fixture
def bank(weights: Weights) -> AdapterBank:
    return AdapterBank(PRODUCTS, torch.float32, torch.device("cpu"), 2, weights)


def launches(bank: AdapterBank, *adapters: SlotAdapter | None, count: int = 1) -> list[int]:
    return [bank.place(adapters) for _ in range(count)][-1]


def in_slots(bank: AdapterBank, *adapters: SlotAdapter, count: int = LAUNCHES_BEFORE) -> bool:
    return all(min(launches(bank, *adapters)) >= 0 for _ in range(count))


def rows_of(weights: Weights) -> dict[str, torch.Tensor]:
    """The weight of each layer by name."""
    return {
        name: rows
        for module, numbered in PRODUCTS.items()
        for number, parts in enumerate(numbered)
        for (name, _), rows in zip(
            parts.items(), weights[module, number].split([size[0] for size in parts.values()]), strict=True
        )
    }


def test_weights_are_those_with_the_adapter_and_then_as_before(bank: AdapterBank, weights: Weights) -> None:
    before = {name: rows.clone() for name, rows in rows_of(weights).items()}
    adapter = adapter_of(*NAMES)
    anna, ben = bank.load(adapter), bank.load(adapter_of("a.0.q", seed=1))
    assert in_slots(bank, anna, anna)
    assert all(torch.equal(rows, before[name]) for name, rows in rows_of(weights).items())
    assert launches(bank, anna) == [-1] and launches(bank, anna, anna, anna, count=3) == [-1] * 3
    scaled = dict(adapter.scaled())
    for name, rows in rows_of(weights).items():
        added = scaled[name].up @ scaled[name].down if name in NAMES else torch.zeros(SIZES[name])
        torch.testing.assert_close(rows, before[name] + added, rtol=1e-5, atol=1e-5)
    assert in_slots(bank, anna, ben, count=1)
    assert all(torch.equal(rows, before[name]) for name, rows in rows_of(weights).items())


@pytest.mark.parametrize("other", ["plain", "another", "nobody's"])
def test_who_takes_turns_with_others_stays_beside_the_weights(bank: AdapterBank, other: str) -> None:
    anna = bank.load(adapter_of("a.0.q"))
    beside = {"plain": [None], "another": [bank.load(adapter_of("a.0.q", seed=1))], "nobody's": [None, anna]}
    for _ in range(3):
        assert in_slots(bank, anna)
        launches(bank, *beside[other])
    assert bank.in_weights.num_added == 0


def test_who_is_alone_begins_as_the_first_did(bank: AdapterBank) -> None:
    anna = bank.load(adapter_of("a.0.q"))
    for times in (1, 2):
        assert in_slots(bank, anna)
        assert launches(bank, anna) == [-1] and bank.in_weights.num_added == times
        bank.begin_anew()


def test_an_adapter_that_needs_more_room_goes_into_weights_that_were_restored(
    bank: AdapterBank, weights: Weights
) -> None:
    before = {name: rows.clone() for name, rows in rows_of(weights).items()}
    first, wider = adapter_of("a.0.q"), adapter_of("a.0.q", "a.1.up", rank=20, seed=1)
    for adapter in (first, wider, first):
        loaded = bank.load(adapter)
        assert launches(bank, loaded, count=LAUNCHES_BEFORE + 1) == [-1]
        expected = {name: layer.up @ layer.down for name, layer in adapter.scaled()}
        for name, rows in rows_of(weights).items():
            added = expected.get(name, torch.zeros(SIZES[name]))
            torch.testing.assert_close(rows, before[name] + added, rtol=1e-5, atol=1e-5)


def test_without_room_to_keep_weights_adapters_stay_beside_them(
    bank: AdapterBank, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = bank.load(adapter_of("a.0.q"))
    needed = sum(weights[key].nbytes for key in anna.layout.places)
    for free, room in ((SPARE_BYTES + needed - 1, False), (SPARE_BYTES + needed, True)):
        monkeypatch.setattr(in_weights_module, "free_bytes", lambda _, free=free: free)
        bank.in_weights = InWeights(weights)
        assert in_slots(bank, anna)
        assert (launches(bank, anna, count=2) == [-1]) == room
        bank.begin_anew()


def test_room_that_comes_later_is_used(
    bank: AdapterBank, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The device is asked now and then, not with each launch, and told of once."""
    caplog.set_level(logging.INFO, in_weights_module.__name__)
    anna, free, asked = bank.load(adapter_of("a.0.q")), [0], []
    monkeypatch.setattr(in_weights_module, "free_bytes", lambda _: asked.append(free[0]) or free[0])
    tries = LAUNCHES_BEFORE + 1 + LAUNCHES_BETWEEN_TRIES
    assert in_slots(bank, anna, count=2 * tries)
    assert asked == [0, 0] and len(caplog.records) == 1
    free[0] = 2 * SPARE_BYTES
    launches(bank, anna, count=tries)
    assert launches(bank, anna) == [-1] and asked[2:] == free


@pytest.mark.timeout(300)
def test_streams_speak_the_same_with_an_adapter_in_the_weights(
    make_engine: Callable[..., VoxCPMEngine], fused: Fused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all layers; then one speaks without, and one with another adapter."""
    monkeypatch.setattr(in_weights_module, "LAUNCHES_BEFORE", 1)
    plain, engine = make_engine(max_num_seqs=2), fused()
    engine._runner.prepare(PLAN)
    for seed, name in enumerate(("anna", "ben")):
        adapter = random_adapter(seed, 4, ADAPTED)
        plain.adapters.add(name, adapter)
        engine.adapters.add(name, adapter)
    beside = engine._runner.adapters.in_weights
    for pair, times in (
        ([clip("a", "anna"), clip("b", "anna")], 1),
        ([clip("c", None), clip("d", "ben")], 1),
        ([clip("e", "ben")], 2),
    ):
        expected, actual = run(plain, *pair), run(engine, *pair)
        for name, outputs in expected.items():
            assert_close(latents(actual[name]), latents(outputs), 1e-4)
        assert beside.num_added == times
