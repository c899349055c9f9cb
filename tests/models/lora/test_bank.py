"""Slots of a device: who is in which, who gives way, and what a slot holds."""

from __future__ import annotations

import pytest
import torch

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter
from models.lora.bank import AdapterBank, SlotAdapter
from models.lora.layout import SlotLayout, SlotShape, shape_of
from tests.models.lora.products import PRODUCTS, adapter_of, held

QKV, OUTPUT, DOWN = 0, 1, 3


@pytest.fixture
def bank() -> AdapterBank:
    return AdapterBank(PRODUCTS, torch.float32, torch.device("cpu"), 2)


def test_a_shape_has_room_for_the_products_and_the_rank_that_are_asked_for() -> None:
    small, large = (
        shape_of(PRODUCTS, adapter_of(*names, rank=rank).layers)
        for names, rank in ((("a.0.q",), 4), (("a.1.o", "proj"), 40))
    )
    assert small == SlotShape(16, frozenset({("a", QKV)}))
    assert large == SlotShape(64, frozenset({("a", OUTPUT), ("proj", 0)}))
    assert not small.holds(large) and not large.holds(small)
    both = small.with_room_for(large)
    assert both.holds(small) and both.holds(large) and both.rank == 64
    places = SlotLayout(PRODUCTS, both).places
    assert set(places) == {("a", 0), ("a", 1), ("a", 4), ("a", 5), ("proj", 0)}
    assert all(offset % 64 == 0 for place in places.values() for offset in place[:2])


def test_adapters_lie_in_slots_with_their_scale(bank: AdapterBank) -> None:
    adapters = [adapter_of("a.0.q", "a.1.v"), adapter_of("a.1.k", rank=3, seed=1)]
    loaded = [bank.load(adapter) for adapter in adapters]
    slots = bank.place([loaded[0], None, loaded[1], loaded[0]])
    assert slots[1] == -1 and slots[0] == slots[3] != slots[2]
    assert held(bank, adapters[0], slots[0]) and held(bank, adapters[1], slots[2])


def test_the_least_recently_used_gives_way_and_comes_back_as_it_was(bank: AdapterBank) -> None:
    adapters = {name: adapter_of("a.0.q", "a.0.o", seed=ord(name)) for name in "abc"}
    loaded: dict[str, SlotAdapter] = {name: bank.load(adapter) for name, adapter in adapters.items()}
    for names, copies in (("a", 1), ("b", 2), ("a", 2), ("c", 3), ("a", 3), ("b", 4), ("ab", 4), ("ca", 5)):
        slots = bank.place([loaded[name] for name in names])
        assert bank.num_copies == copies
        assert all(held(bank, adapters[name], slot) for name, slot in zip(names, slots, strict=True))


def test_more_adapters_than_slots_go_in_turns(bank: AdapterBank) -> None:
    loaded = [bank.load(adapter_of("a.0.q", seed=seed)) for seed in range(3)]
    a, b, c = loaded
    assert bank.place(loaded) is None
    assert bank.groups([a, None, b, a, c, None, b]) == [[0, 1, 2, 3], [4, 5, 6]]
    assert bank.groups([None, None]) == [[0, 1]] and bank.groups([a, a]) == [[0, 1]]


def test_one_that_needs_more_room_makes_new_slots_and_the_others_move_over(bank: AdapterBank) -> None:
    small, large = adapter_of("a.0.q", "a.1.q"), adapter_of("a.0.down", "proj", rank=20, seed=1)
    first = bank.load(small)
    slot = bank.place([first])[0]
    before = bank.generation
    second = bank.load(large)
    assert bank.generation is before and held(bank, small, slot)
    slots = bank.place([second, first])
    assert bank.generation is not before and bank.generation.layout.shape.rank == 32
    assert held(bank, large, slots[0]) and held(bank, small, slots[1])
    third = bank.load(small)
    assert third.layout is bank.generation.layout


def test_one_that_needs_more_room_makes_nobody_wait_before_it_is_used(bank: AdapterBank) -> None:
    """Such as one that was only sent, or refused after that: programs would be recorded anew."""
    small, large = adapter_of("a.0.q"), adapter_of("a.0.down", rank=20, seed=1)
    first = bank.load(small)
    bank.place([first])
    before, second = bank.generation, bank.load(large)
    third = bank.load(adapter_of("a.0.q", seed=2))
    assert bank.fetch(third) and not bank.fetch(second)
    slots = bank.place([first, third])
    assert bank.generation is before and held(bank, small, slots[0])
    assert held(bank, large, bank.place([second])[0]) and bank.generation is not before
    slots = bank.place([third, first])
    assert held(bank, adapter_of("a.0.q", seed=2), slots[0]) and held(bank, small, slots[1])


def test_one_that_changes_no_product_takes_no_slot(bank: AdapterBank) -> None:
    """As one of the audio VAE's decoder alone."""
    a, b = (bank.load(adapter_of("a.0.q", seed=seed)) for seed in range(2))
    beside = bank.load(Adapter({"decoder": LowRank(torch.ones(1, 2), torch.ones(2, 1))}, 1.0))
    bank.renew()
    assert beside.num_bytes == 0 and bank.fetch(beside)
    slots = bank.place([a, beside, b])
    assert slots[1] == -1 and sorted((slots[0], slots[2])) == [0, 1] and bank.num_copies == 2
    assert bank.groups([a, beside, b, beside]) == [[0, 1, 2, 3]]
