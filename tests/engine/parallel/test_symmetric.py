"""How ranks share memory of GPUs, as far as a CPU can tell."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from torch import distributed as dist
from torch._C import _distributed_c10d as registry

from engine.parallel.group import Place
from engine.parallel.own_numbers import OwnNumbers
from engine.parallel.symmetric import _named


def test_pytorch_finds_the_group_by_its_name_while_memory_is_shared_and_not_longer(tmp_path: Path) -> None:
    place = Place(1, 2, str(tmp_path / "store"), "ours")
    with _named(place, dist.FileStore(place.store, place.size)) as name:
        found = registry._resolve_process_group(name)
        assert (found.rank(), found.size()) == (1, 2)
    with pytest.raises(RuntimeError, match="Could not resolve"):
        registry._resolve_process_group(name)


def test_ranks_meet_whatever_their_processes_exchanged_before(tmp_path: Path) -> None:
    store = str(tmp_path / "store")

    def exchange(rank: int, before: int) -> list[bytes]:
        numbered = OwnNumbers(dist.FileStore(store, 2))
        group = dist.PrefixStore("ours", numbered)
        found = []
        for number in range(before, before + 3):  # as PyTorch does it
            keys = [f"CUDASymmetricMemory/{number}/{other}" for other in range(2)]
            group.set(keys[rank], bytes([200 + rank, number - before]))
            group.wait(keys)
            found += group.multi_get(keys)
        return found

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(exchange, (0, 1), (7, 0))
    assert first == second == [bytes([200 + rank, number]) for number in range(3) for rank in range(2)]
