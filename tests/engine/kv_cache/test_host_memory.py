"""Copies between the device's part of the cache and the host's; on the CPU, where nothing is on its way."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
import torch

from engine.errors import EngineError
from engine.kv_cache import host_memory
from engine.kv_cache import host_slots as host_slots_module
from engine.kv_cache.host_memory import HostMemory
from engine.kv_cache.pool import KVPool
from engine.kv_cache.sizing import GIB, HOST_TIMES, available_bytes, host_slots

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def make_pool(num_blocks: int = 7, dtype: torch.dtype = torch.float32) -> KVPool:
    return KVPool(3, num_blocks, 4, 2, 8, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_order_of_copies_keeps_every_bit(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """More slots than fit into a segment, more blocks at once than fit into a buffer."""
    pool = make_pool(dtype=dtype)
    block_bytes = pool.tensor[:, :, 0].numel() * dtype.itemsize
    monkeypatch.setattr(host_slots_module, "SEGMENT_BYTES", 3 * block_bytes)
    monkeypatch.setattr(host_memory, "BUFFER_BYTES", 2 * block_bytes)
    memory = HostMemory(pool, num_slots=8)
    assert memory.block_bytes == block_bytes and len(memory._slots._segments) == 3
    chance, kept = random.Random(3), {}
    for _ in range(60):
        chosen = chance.sample(range(7), chance.randint(1, 6))
        slots = chance.sample(range(8), len(chosen))
        if chance.random() < 0.5:
            pool.tensor[:, :, chosen] = torch.randn(3, 2, len(chosen), 4, 2, 8).to(dtype)
            memory.store(chosen, slots)
            for block, slot in zip(chosen, slots, strict=True):
                kept[slot] = pool.tensor[:, :, block].clone()
            pool.tensor[:, :, chosen] = -1.0
        elif set(slots) <= set(kept):
            others = pool.tensor.clone()
            transfer = memory.load(slots, chosen, at_once=chance.random() < 0.5)
            assert transfer.done()
            for block, slot in zip(chosen, slots, strict=True):
                torch.testing.assert_close(pool.tensor[:, :, block], kept[slot], rtol=0, atol=0)
                others[:, :, block] = kept[slot]
            assert torch.equal(pool.tensor, others)


def test_who_else_writes_to_the_pool_is_waited_for_before_anything_is_copied() -> None:
    settled: list[None] = []
    memory = HostMemory(make_pool(), 2, settle=lambda: settled.append(None))
    settled.clear()
    memory.store([0], [0])
    memory.load([0], [1]).wait()
    assert len(settled) == 2


def test_copies_tell_how_fast_they_are() -> None:
    memory = HostMemory(make_pool(), 4)
    before = memory.seconds_for(2)
    for _ in range(40):
        assert memory.load([0, 1, 2], [0, 1, 2]).done()
    assert 0 < memory.seconds_for(1) != before / 2
    assert memory.seconds_for(6) == pytest.approx(2 * memory.seconds_for(3))


class Clock:
    """Stands in for `time`: what copies over the bus take, and what comes between them and the steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, copy_seconds: float, spread_seconds: float) -> None:
        self.now, self._copy_seconds = 0.0, copy_seconds
        spread = HostMemory._spread

        def slow_spread(*given: object) -> None:
            self.now += spread_seconds
            spread(*given)

        monkeypatch.setattr(HostMemory, "_spread", slow_spread)
        monkeypatch.setattr(host_memory, "time", self)

    def perf_counter(self) -> float:
        self.now += self._copy_seconds
        return self.now


def test_the_pace_is_known_before_anything_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the first clip that comes back would miss a step, however fast the bus is."""
    Clock(monkeypatch, copy_seconds=0.5, spread_seconds=0.0)
    assert HostMemory(make_pool(), 4).seconds_for(4) == pytest.approx(0.5)


@pytest.mark.parametrize("at_once", [False, True])
def test_the_pace_is_of_the_bus_alone(monkeypatch: pytest.MonkeyPatch, at_once: bool) -> None:
    """To load the kernel that spreads blocks takes longer than the first copy. Counted in, it would make the
    next ones look too slow to be waited for."""
    Clock(monkeypatch, copy_seconds=0.5, spread_seconds=100.0)
    memory = HostMemory(make_pool(), 4)
    for _ in range(3):
        memory.load([0, 1], [0, 1], at_once)
        assert memory.seconds_for(2) < 1.0


def test_as_many_blocks_as_were_asked_for_lie_on_the_host() -> None:
    assert host_slots(0.0, 1000, 10, CPU) == 0
    assert host_slots(1 / 1024, 1000, 10, CPU) == (1 << 20) // 1000
    for gib in (1e6, 1e308):
        with pytest.raises(EngineError, match=rf"kv_host_gib is {re.escape(f'{gib:g}')}, and .* GiB"):
            host_slots(gib, 1000, 10, CPU)


def test_without_a_number_a_gpu_gets_what_is_worth_it_and_available() -> None:
    assert host_slots(None, 1000, 10, CPU) == 0
    assert host_slots(None, 1000, 10, CUDA) == HOST_TIMES * 10
    share = 0.01
    assert host_slots(None, GIB, 10**6, CUDA, share) == pytest.approx(share * available_bytes() / GIB, abs=2)


def test_a_control_group_bounds_what_is_available(tmp_path: Path) -> None:
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:  9000 kB\nMemAvailable:  5000 kB\n")
    assert available_bytes(tmp_path) == 5000 * 1024
    (group / "memory.current").write_text("1000\n")
    (group / "memory.max").write_text("max\n")
    assert available_bytes(tmp_path) == 5000 * 1024
    (group / "memory.max").write_text("4000\n")
    assert available_bytes(tmp_path) == 3000
