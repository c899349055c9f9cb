"""How ranks share memory of GPUs, as far as a CPU can tell."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import distributed as dist
from torch._C import _distributed_c10d as registry

from engine.parallel.group import Place
from engine.parallel.symmetric import _named


def test_pytorch_finds_the_group_by_its_name_while_memory_is_shared_and_not_longer(tmp_path: Path) -> None:
    place = Place(1, 2, str(tmp_path / "store"), "ours")
    with _named(place, dist.FileStore(place.store, place.size)) as name:
        found = registry._resolve_process_group(name)
        assert (found.rank(), found.size()) == (1, 2)
    with pytest.raises(RuntimeError, match="Could not resolve"):
        registry._resolve_process_group(name)
