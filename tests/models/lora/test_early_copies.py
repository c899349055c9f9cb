"""Adapters that come to a slot before a step asks: who gives way to them, and what waits for the copy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from engine.config import EngineConfig
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence, SequenceStatus
from models.lora.bank import AdapterBank, SlotAdapter
from models.lora.early_copies import EarlyCopies
from models.voxcpm.engine import VoxCPMEngine
from tests.models.conftest import assert_close, latents, run
from tests.models.lora.conftest import Fused, clip, random_adapter
from tests.models.lora.products import PRODUCTS, adapter_of, held


@pytest.fixture
def bank() -> AdapterBank:
    return AdapterBank(PRODUCTS, torch.float32, torch.device("cpu"), 2)


def load(bank: AdapterBank, count: int) -> list[SlotAdapter]:
    return [bank.load(adapter_of("a.0.q", seed=seed)) for seed in range(count)]


def in_slots(bank: AdapterBank) -> set[str]:
    return set(bank._slots)


def digests(*adapters: SlotAdapter) -> set[str]:
    return {adapter.digest for adapter in adapters}


def test_what_was_fetched_is_there_and_not_copied_again(bank: AdapterBank) -> None:
    adapters = [adapter_of("a.0.q", seed=seed) for seed in range(2)]
    loaded = [bank.load(adapter) for adapter in adapters]
    bank.renew()
    for adapter in (*loaded, loaded[0]):
        bank.fetch(adapter)
    assert (bank.num_copies, bank.num_fetched) == (2, 2)
    slots = bank.place(loaded)
    assert all(held(bank, adapter, slot) for adapter, slot in zip(adapters, slots, strict=True))
    assert bank.num_copies == 2


def test_the_least_recently_used_that_nobody_needs_gives_way(bank: AdapterBank) -> None:
    a, b, c = load(bank, 3)
    bank.place([b])
    bank.place([a])
    bank.fetch(c)
    assert in_slots(bank) == digests(a, c)
    bank.needed = lambda: digests(a)
    bank.fetch(b)
    assert in_slots(bank) == digests(a, b)


def test_nothing_gives_way_that_somebody_needs_until_a_step_asks(bank: AdapterBank) -> None:
    """Neither what runs (a) nor what was fetched for who waits (b)."""
    a, b, c = load(bank, 3)
    bank.place([a])
    bank.fetch(b)
    bank.needed = lambda: digests(a, b, c)
    bank.fetch(c)
    assert in_slots(bank) == digests(a, b) and bank.num_copies == 2
    bank.place([b])
    slot = bank.place([c])[0]
    assert in_slots(bank) == digests(b, c) and held(bank, adapter_of("a.0.q", seed=2), slot)
    assert (bank.num_copies, bank.num_fetched) == (3, 1)


def test_a_step_takes_the_place_of_what_nobody_needs_first(bank: AdapterBank) -> None:
    """Of who is gone (b), though it was used later than what was fetched for who waits (a)."""
    a, b, c = load(bank, 3)
    bank.place([b])
    bank.fetch(a)
    bank.place([b])
    bank.needed = lambda: digests(a, c)
    bank.place([c])
    assert in_slots(bank) == digests(a, c)


def test_more_than_there_are_slots_come_in_turns_beside_what_was_fetched(bank: AdapterBank) -> None:
    adapters = [adapter_of("a.0.q", seed=seed) for seed in range(5)]
    loaded = [bank.load(adapter) for adapter in adapters]
    bank.needed = lambda: digests(*loaded)
    for adapter in loaded:
        bank.fetch(adapter)
    assert bank.place(loaded) is None
    for group in bank.groups(loaded):
        slots = bank.place([loaded[i] for i in group])
        assert len(set(slots)) == len(group)
        assert all(held(bank, adapters[i], slot) for i, slot in zip(group, slots, strict=True))


def test_new_slots_are_left_to_the_step(bank: AdapterBank) -> None:
    small, large = adapter_of("a.0.q"), adapter_of("a.0.down", rank=20, seed=1)
    first = bank.load(small)
    bank.renew()
    bank.fetch(first)
    before, made = bank.generation, []
    thread = threading.Thread(target=lambda: made.append(bank.load(large)))
    thread.start()
    thread.join()
    bank.fetch(made[0])
    assert bank.generation is before and bank.num_copies == 1
    slots = bank.place([first, made[0]])
    assert bank.generation is not before and (bank.num_copies, bank.num_fetched) == (3, 1)
    assert held(bank, small, slots[0]) and held(bank, large, slots[1])
    bank.place([None])
    moved = bank.load(adapter_of("a.0.q", seed=2))
    bank.fetch(moved)
    assert held(bank, adapter_of("a.0.q", seed=2), bank._slots[moved.digest])


def test_a_copy_that_could_not_begin_leaves_the_slot_free(bank: AdapterBank) -> None:
    a, b = load(bank, 2)
    bank.renew()
    bank.fetch(a)
    broken = SlotAdapter("broken", b.layout, (*b.pieces, *b.pieces))
    scheduler = Scheduler(EngineConfig(num_blocks=4, block_size=4, max_model_len=16))
    early = EarlyCopies(bank, scheduler)
    early.begin(sequence("r", broken))
    assert in_slots(bank) == digests(a)
    slots = bank.place([a, b])
    assert len(set(slots)) == 2 and held(bank, adapter_of("a.0.q", seed=1), slots[1])


class FakeMoment:
    def __init__(self, told: list[str], name: str) -> None:
        self._told, self._name = told, name

    def hold_up(self) -> None:
        self._told.append(f"wait for {self._name}")


class FakeStream:
    """Tells in which order the two streams are given work."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._copies = self._reads = 0

    @contextmanager
    def on(self) -> Iterator[None]:
        self.told.append("copy:")
        yield

    def moment(self) -> FakeMoment:
        self._copies += 1
        return FakeMoment(self.told, f"copy {self._copies}")

    def outside(self) -> FakeMoment:
        self._reads += 1
        return FakeMoment(self.told, f"read {self._reads}")


def test_a_step_waits_for_the_copies_that_it_reads_and_once(
    bank: AdapterBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, c = load(bank, 3)
    bank.renew()
    stream = FakeStream()
    monkeypatch.setattr(bank, "_stream", stream)
    bank.fetch(a)
    bank.fetch(b)
    assert stream.told == ["copy:", "copy:"]
    bank.read(bank.place([b]))
    bank.read(bank.place([b]))
    assert stream.told[2:] == ["wait for copy 2"]
    bank.read(bank.place([a, b]))
    assert stream.told[3:] == ["wait for copy 1"]
    bank.read(bank.place([b]))
    bank.fetch(c)  # in the slot of a, which read 3 read last
    assert stream.told[4:] == ["copy:", "wait for read 3"]
    bank.fetch(a)  # in that of b, which nobody needs either
    bank.place([a])
    assert stream.told[6:] == ["copy:", "wait for read 4", "wait for copy 4"]


def sequence(name: str, adapter: SlotAdapter | None, tokens: int = 4) -> Sequence:
    return Sequence(name, list(range(tokens)), 8, SimpleNamespace(adapter=adapter))


def advance(scheduler: Scheduler) -> None:
    for row in scheduler.schedule():
        scheduler.commit(row)
        scheduler.append(row.sequence, 7)


def test_who_lost_its_blocks_keeps_its_adapter(bank: AdapterBank) -> None:
    """A preempted request waits like any other; nothing that runs or waits is taken from."""
    a, b, c = load(bank, 3)
    bank.renew()
    scheduler = Scheduler(EngineConfig(num_blocks=3, block_size=4, max_model_len=12))
    early = EarlyCopies(bank, scheduler)
    first, second, third = sequence("a", a), sequence("b", b), sequence("c", c)
    for each in (first, second):
        scheduler.add(each)
        early.begin(each)
    for _ in range(2):
        advance(scheduler)
    assert scheduler.num_preemptions == 1 and second.status is SequenceStatus.WAITING
    scheduler.add(third)
    early.begin(third)
    assert in_slots(bank) == digests(a, b)
    scheduler.remove(first)
    early.begin(third)
    assert in_slots(bank) == digests(b, c)


def test_what_found_no_slot_is_fetched_when_one_frees(bank: AdapterBank) -> None:
    """The longest waiting first; not what has left meanwhile."""
    loaded = load(bank, 5)
    a, b, _, d, e = loaded
    bank.renew()
    scheduler = Scheduler(EngineConfig(num_blocks=8, block_size=4, max_model_len=16))
    early = EarlyCopies(bank, scheduler)
    waiting = [sequence(name, adapter) for name, adapter in zip("abcde", loaded, strict=True)]
    for each in waiting:
        scheduler.add(each)
        early.begin(each)
    early.go_on()
    assert in_slots(bank) == digests(a, b)
    scheduler.remove(waiting[2])
    scheduler.remove(waiting[0])
    early.go_on()
    assert in_slots(bank) == digests(b, d)
    scheduler.remove(waiting[1])
    early.go_on()
    assert in_slots(bank) == digests(d, e) and bank.num_fetched == 4


def test_requests_fetch_when_they_are_taken_and_let_go_when_they_leave(fused: Fused) -> None:
    """Cancelled ones and paused ones; nothing is computed here."""
    engine = fused(adapter_slots=2)
    bank = engine._runner.adapters
    names = ("anna", "ben", "carl", "dora")
    for seed, name in enumerate(names):
        engine.adapters.add(name, random_adapter(seed))
    digest = {name: engine.adapters.get(name).digest for name in names}

    def there() -> set[str]:
        return {name for name in names if digest[name] in in_slots(bank)}

    engine.add_request(clip("a", "anna"))
    engine.add_request(clip("n", None))
    engine.add_request(clip("b", "ben"))
    assert there() == {"anna", "ben"}
    engine.add_request(clip("c", "carl"))
    assert there() == {"anna", "ben"}
    assert engine.cancel("b") and engine.cancel("c")
    engine.add_request(clip("d", "dora"))
    assert there() == {"anna", "dora"}
    engine.pause("a")
    engine.add_request(clip("e", "ben"))
    assert there() == {"ben", "dora"}
    assert engine.resume("a") and there() == {"ben", "dora"}
    engine.cancel("e")
    engine.pause("a")
    engine.resume("a")
    assert there() == {"anna", "dora"}
    assert not engine.resume("nobody")
    assert bank.num_copies == bank.num_fetched == 5


@pytest.mark.timeout(300)
def test_clips_whose_adapters_came_early_sound_as_they_should(
    make_engine: Callable[..., VoxCPMEngine], fused: Fused
) -> None:
    """Two run and two wait, with three slots: nobody's adapter is copied by a step."""
    plain, engine = make_engine(max_num_seqs=2), fused(adapter_slots=3)
    for seed, name in enumerate(("anna", "ben", "carl")):
        for each in (plain, engine):
            each.adapters.add(name, random_adapter(seed))
    work = [clip("a", "anna"), clip("b", "ben"), clip("c", "carl"), clip("d", "ben")]
    expected, actual = run(plain, *work), run(engine, *work)
    for name, outputs in expected.items():
        assert_close(latents(actual[name]), latents(outputs), 1e-4)
    bank = engine._runner.adapters
    assert bank.num_copies == bank.num_fetched == 3
