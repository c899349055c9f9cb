"""What an engine can be told."""

from __future__ import annotations

import pytest

from engine.errors import OptionsError
from models.voxcpm import VoxCPM
from models.voxcpm.options import EngineOptions


@pytest.mark.parametrize(
    "option", ["max_num_seqs", "kv_blocks", "threads", "adapter_slots", "min_stop_index"]
)
@pytest.mark.parametrize("value", [2.5, True, "2", -1])
def test_what_is_counted_is_a_whole_number(option: str, value: object) -> None:
    with pytest.raises(OptionsError, match=f"{option} must be a whole number"):
        EngineOptions(**{option: value})
    assert getattr(EngineOptions(**{option: 2}), option) == 2


@pytest.mark.parametrize("option", ["enforce_eager", "gpu_memory_utilization", "device_map"])
def test_an_option_that_there_is_not_is_named_before_anything_is_loaded(option: str) -> None:
    with pytest.raises(OptionsError, match=rf"no option {option}, only max_num_seqs, .*graphs"):
        VoxCPM.from_pretrained("nowhere/at-all", **{option: 1})
