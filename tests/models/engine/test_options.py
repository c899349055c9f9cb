"""What an engine can be told."""

from __future__ import annotations

import pytest

from engine.errors import OptionsError
from models.llm.options import TextOptions
from models.voxcpm import VoxCPM
from models.voxcpm.options import EngineOptions
from tests.models.lora.conftest import CHECKPOINT


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


SWITCHES = {
    EngineOptions: ["enable_prefix_caching", "silence_guard", "ratio_cap"],
    TextOptions: ["enable_prefix_caching", "kv_offload"],
}
NEVER_NONE = ["max_num_seqs", "block_size", "kv_host_share", "graphs", "attention_backend"]


@pytest.mark.parametrize("value", ["no", "", 0, 1, None])
@pytest.mark.parametrize("options", [EngineOptions, TextOptions])
def test_a_switch_is_on_or_off_and_nothing_else(options: type, value: object) -> None:
    for option in SWITCHES[options]:
        with pytest.raises(OptionsError, match=f"^{option} must be True or False, got {value!r}$"):
            options(**{option: value})
        assert getattr(options(**{option: False}), option) is False


@pytest.mark.parametrize("options", [EngineOptions, TextOptions])
def test_none_is_refused_where_it_has_no_meaning(options: type) -> None:
    for option in NEVER_NONE:
        with pytest.raises(OptionsError, match=f"^{option} must be .*, got None$"):
            options(**{option: None})
    assert options(max_model_len=None, kv_host_gib=None).kv_host_gib is None


@pytest.mark.parametrize(("option", "value"), [("adapter_slots", False), ("tensor_parallel_size", True)])
def test_a_truth_value_is_no_number(option: str, value: bool) -> None:
    with pytest.raises(ValueError, match=f"{option} must be .*, got {value}"):
        VoxCPM.from_pretrained(str(CHECKPOINT), device="cpu", **{option: value})


@pytest.mark.parametrize("option", ["enforce_eager", "gpu_memory_utilization", "device_map"])
def test_an_option_that_there_is_not_is_named_before_anything_is_loaded(option: str) -> None:
    with pytest.raises(OptionsError, match=rf"no option {option}, only max_num_seqs, .*graphs"):
        VoxCPM.from_pretrained("nowhere/at-all", **{option: 1})
