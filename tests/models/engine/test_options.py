"""What an engine can be told."""

from __future__ import annotations

import pytest

from engine.errors import OptionsError
from models.voxcpm.options import EngineOptions


@pytest.mark.parametrize(
    "option", ["max_num_seqs", "kv_blocks", "threads", "adapter_slots", "min_stop_index"]
)
@pytest.mark.parametrize("value", [2.5, True, "2", -1])
def test_what_is_counted_is_a_whole_number(option: str, value: object) -> None:
    with pytest.raises(OptionsError, match=f"{option} must be a whole number"):
        EngineOptions(**{option: value})
    assert getattr(EngineOptions(**{option: 2}), option) == 2
