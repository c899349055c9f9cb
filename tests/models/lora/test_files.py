"""Adapters are read whole, at their own scale, or refused with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.lora.adapter import Adapter, AdapterError
from models.lora.files import read_adapter, received_adapter, write_adapter
from tests.models.lora.conftest import LORA, random_adapter
from tests.models.lora.edited_files import change, rewrite, to_peft

Sizes = dict[str, tuple[int, int]]
FIRST = "base_lm.layers.0.self_attn.q_proj"


def test_what_is_written_is_read_again(written: Path, adapter: Adapter, sizes: Sizes) -> None:
    found = read_adapter(written, sizes)
    assert found.scale == 2.0 and found.rank == 4 and found.base == "tiny"
    assert found.digest == adapter.digest
    assert all(torch.equal(found.layers[name].up, adapter.layers[name].up) for name in adapter.layers)


def test_the_scale_is_that_of_the_file_and_part_of_the_digest(written: Path, sizes: Sizes) -> None:
    before = read_adapter(written, sizes)
    change(written, alpha=2)
    after = read_adapter(written, sizes)
    assert after.scale == 0.5 and after.digest != before.digest


def test_a_pickle_is_read_without_running_it(written: Path, adapter: Adapter, sizes: Sizes) -> None:
    state = load_file(written / "lora_weights.safetensors")
    (written / "lora_weights.safetensors").unlink()
    torch.save({"state_dict": state}, written / "lora_weights.ckpt")
    assert read_adapter(written, sizes).digest == adapter.digest
    torch.save({"state_dict": state, "more": Path}, written / "lora_weights.ckpt")
    with pytest.raises(AdapterError, match="weights_only"):
        read_adapter(written, sizes)


@pytest.mark.parametrize(
    "kept", [torch.nn.Parameter, lambda tensor: torch._neg_view(-tensor)], ids=["parameters", "signs turned"]
)
def test_tensors_of_an_archive_are_their_values(
    kept: Any, written: Path, adapter: Adapter, sizes: Sizes
) -> None:
    state = load_file(written / "lora_weights.safetensors")
    torch.save({name: kept(tensor) for name, tensor in state.items()}, written / "lora_weights.ckpt")
    config = json.loads((written / "lora_config.json").read_text())
    archive = (written / "lora_weights.ckpt").read_bytes()
    assert received_adapter(config, archive, sizes).digest == adapter.digest
    (written / "lora_weights.safetensors").unlink()
    assert read_adapter(written, sizes).digest == adapter.digest


def test_the_layout_of_peft_is_the_same_adapter(written: Path, adapter: Adapter, sizes: Sizes) -> None:
    to_peft(written)
    assert read_adapter(written, sizes).digest == adapter.digest


def test_peft_may_have_ranks_and_scales_of_some_layers(written: Path, sizes: Sizes) -> None:
    def shorten(state: dict[str, Tensor]) -> None:
        for name in [name for name in state if ".v_proj." in name]:
            state[name] = (state[name][:2] if name.endswith("A") else state[name][:, :2]).contiguous()

    rewrite(written, shorten)
    to_peft(written, rank_pattern={"v_proj": 2}, alpha_pattern={"0.self_attn.o_proj": 12})
    found = read_adapter(written, sizes)
    scaled = dict(found.scaled())
    for name, scale in {
        "base_lm.layers.0.self_attn.v_proj": 4.0,
        "base_lm.layers.0.self_attn.o_proj": 3.0,
        "base_lm.layers.1.self_attn.o_proj": 2.0,
    }.items():
        assert torch.equal(scaled[name].up, found.layers[name].up * scale)
    about = json.loads((written / "adapter_config.json").read_text())
    (written / "adapter_config.json").write_text(json.dumps(about | {"use_rslora": True}))
    assert read_adapter(written, sizes).scale == 4.0


def test_of_several_keys_of_peft_that_fit_a_layer_the_first_counts(written: Path, sizes: Sizes) -> None:
    whole = "base_lm.layers.0.self_attn.o_proj"
    second = whole.replace("0", "1")
    to_peft(written, alpha_pattern={f"^{second}": 12, "^o_proj": 4, "o_proj": 16, whole: 20})
    found = read_adapter(written, sizes)
    assert found.scales[whole] == 4.0 and found.scales[second] == 3.0


@pytest.mark.parametrize("beginning", [True, "gaussian", "eva"])
def test_how_matrices_began_does_not_matter_where_the_model_stayed(
    written: Path, adapter: Adapter, sizes: Sizes, beginning: Any
) -> None:
    to_peft(written, init_lora_weights=beginning)
    assert read_adapter(written, sizes).digest == adapter.digest


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"use_dora": True}, "use_dora"),
        ({"layer_replication": [[0, 2], [1, 2]]}, "layer_replication"),
        ({"alora_invocation_tokens": [5, 6]}, "alora_invocation_tokens"),
        ({"init_lora_weights": "pissa_niter_16"}, "init_lora_weights 'pissa_niter_16'"),
        ({"init_lora_weights": "olora"}, "model's own weights"),
        ({"bias": "all"}, "bias"),
        ({"peft_type": "IA3"}, "IA3"),
        ({"rank_pattern": {"(a+)+$": 2}}, "rank_pattern"),
        ({"target_modules": ["q_proj", "gate_proj"]}, "missing"),
        ({"target_modules": ["c_attn"]}, "names no layer of this model"),
        ({"target_modules": 3}, "target_modules is not a list"),
        ({"r": 129}, "from 1 to 128"),
    ],
)
def test_peft_that_is_more_or_less_than_lora_is_refused(
    written: Path, sizes: Sizes, config: dict[str, Any], reason: str
) -> None:
    to_peft(written, **config)
    with pytest.raises(AdapterError, match=reason):
        read_adapter(written, sizes)


def rename(state: dict[str, Tensor]) -> None:
    state["feat_encoder.encoder.layers.0.self_attn.q_proj.lora_A"] = state.pop(f"{FIRST}.lora_A")


def spoil(state: dict[str, Tensor]) -> None:
    state[f"{FIRST}.lora_B"][3, 1] = float("nan")


def cut(state: dict[str, Tensor]) -> None:
    state[f"{FIRST}.lora_A"] = state[f"{FIRST}.lora_A"][:, :-1].contiguous()


def count(state: dict[str, Tensor]) -> None:
    state[f"{FIRST}.lora_A"] = state[f"{FIRST}.lora_A"].long()


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda state: state.pop(f"{FIRST}.lora_B"), f"missing: {FIRST}.lora_B"),
        (lambda state: [state.pop(f"{FIRST}.lora_{kind}") for kind in "AB"], "missing"),
        (rename, "no adapter of this model has: feat_encoder"),
        (lambda state: state.update(surplus=torch.zeros(1)), "surplus"),
        (spoil, f"{FIRST}.lora_B has values that are not finite"),
        (cut, "want"),
        (count, "not a float"),
        (dict.clear, "missing"),
    ],
)
def test_tensors_that_do_not_fit_are_named(written: Path, sizes: Sizes, edit: Any, reason: str) -> None:
    rewrite(written, edit)
    with pytest.raises(AdapterError, match=reason):
        read_adapter(written, sizes)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"r": 8}, "rank 8"),
        ({"r": 0}, "from 1 to 128"),
        ({"alpha": "much"}, "alpha"),
        ({"alpha": 10**400}, "not a finite number"),
        ({"enable_lm": False}, "enables nothing"),
        ({"enable_dit": True}, "missing"),
        ({"target_modules_lm": ["q_proj"]}, "does not name"),
        ({"target_modules_lm": "q_proj"}, "list of names"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(
    written: Path, sizes: Sizes, config: dict[str, Any], reason: str
) -> None:
    change(written, **config)
    with pytest.raises(AdapterError, match=reason):
        read_adapter(written, sizes)


def test_a_folder_without_configuration_or_weights_is_refused(written: Path, sizes: Sizes) -> None:
    (written / "lora_weights.safetensors").rename(written / "other.safetensors")
    with pytest.raises(AdapterError, match="neither"):
        read_adapter(written, sizes)
    (written / "lora_config.json").write_text("{")
    with pytest.raises(AdapterError, match="cannot be read"):
        read_adapter(written, sizes)
    (written / "lora_config.json").unlink()
    with pytest.raises(AdapterError, match="tell rank and scale"):
        read_adapter(written, sizes)


def test_a_file_larger_than_any_adapter_of_the_model_is_not_opened(written: Path, sizes: Sizes) -> None:
    with (written / "lora_weights.safetensors").open("r+b") as file:
        file.truncate(1 << 32)
    with pytest.raises(AdapterError, match="at most"):
        read_adapter(written, sizes)


def test_an_adapter_of_other_weights_is_refused(tmp_path: Path, sizes: Sizes) -> None:
    write_adapter(tmp_path, random_adapter(base_digest="abc"), LORA)
    assert read_adapter(tmp_path, sizes, lambda: "abc").base_digest == "abc"
    with pytest.raises(AdapterError, match=r"another model \(tiny\)"):
        read_adapter(tmp_path, sizes, lambda: "def")
