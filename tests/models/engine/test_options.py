"""What an engine can be told."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import EngineError, OptionsError
from models.llm.options import TextOptions
from models.voxcpm import VoxCPM, api
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
        ("gpu_memory_utilization", 1.5, "a number above 0 and at most 1"),
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


def test_steps_are_not_recorded_where_that_is_asked_for_as_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[dict[str, Any]] = []

    def load(*_: object, **options: Any) -> None:
        chosen.append(options)
        raise EngineError("enough")

    monkeypatch.setattr(api, "load_engine", load)
    monkeypatch.setattr(api, "load_pool", load)
    for where in ({}, {"devices": ["cpu"]}):
        for options in (
            {"enforce_eager": True},
            {"enforce_eager": False},
            {"enforce_eager": True, "graphs": "static"},
        ):
            with pytest.raises(EngineError, match="enough"):
                VoxCPM.from_pretrained("bundled", **where, **options)
    assert [options.get("graphs") for options in chosen] == ["off", None, "static"] * 2
    with pytest.raises(OptionsError, match="enforce_eager must be True or False, got 'no'"):
        VoxCPM.from_pretrained("bundled", enforce_eager="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["inference_timesteps", "lora_config", "device_map"])
def test_an_option_that_there_is_not_is_named_before_anything_is_loaded(option: str) -> None:
    with pytest.raises(OptionsError, match=rf"no option {option}, only max_num_seqs, .*graphs"):
        VoxCPM.from_pretrained("nowhere/at-all", **{option: 1})
