"""The memory of the cache on a device."""

from __future__ import annotations

import pytest

from engine.errors import EngineError
from engine.kv_cache.pool import KVPool


@pytest.mark.parametrize("num_blocks", [10**13, 10**17])
def test_a_cache_that_the_device_has_no_room_for_says_how_large_it_is(num_blocks: int) -> None:
    with pytest.raises(EngineError, match=rf"of {num_blocks} blocks takes \d+\.\d\d GiB, which cpu has not"):
        KVPool(2, num_blocks, 16, 2, 32)
