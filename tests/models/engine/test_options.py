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


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        ("kv_bring_back", "sometimes", "one of auto, always"),
        ("graphs", "on", "one of auto, off, static"),
        ("attention_backend", "fastest", "one of auto, .*sdpa"),
        ("kv_host_share", 1.5, "a number above 0 and at most 1"),
        ("typical_seconds", 0, "a finite number above 0"),
        ("part_characters", 10**9, "a whole number between 1 and"),
    ],
)
def test_what_is_out_of_bounds_is_named_with_them(option: str, value: object, allowed: str) -> None:
    with pytest.raises(OptionsError, match=f"^{option} must be {allowed}"):
        EngineOptions(**{option: value})


@pytest.mark.parametrize("option", ["enforce_eager", "gpu_memory_utilization", "device_map"])
def test_an_option_that_there_is_not_is_named_before_anything_is_loaded(option: str) -> None:
    with pytest.raises(OptionsError, match=rf"no option {option}, only max_num_seqs, .*graphs"):
        VoxCPM.from_pretrained("nowhere/at-all", **{option: 1})
