"""Reading checkpoints in every released layout, and filling and exporting modules by released names."""

from __future__ import annotations

import json
import os
import pickle
import re
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from engine.errors import WeightError
from engine.layers.linear import MergedLinear
from engine.layers.norm import RMSNorm
from engine.layers.rotary import LongRope
from engine.weights import export_state, load_into, load_state


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = MergedLinear(4, {"q_proj": 4, "k_proj": 2, "v_proj": 2}, bias=True)
        self.o_proj = nn.Linear(4, 4, bias=False)


class Model(nn.Module):
    """Fused where its checkpoint is not, with a persistent and a computed buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.ModuleDict({"attention": Attention(), "norm": RMSNorm(4)}) for _ in range(2)
        )
        self.rope = LongRope(2, 10000.0, 8, 8, [1.0], [1.0])
        self.register_buffer(
            "boundaries", torch.tensor([1, 2], dtype=torch.int32, device=self.rope.frequencies.device)
        )


@pytest.fixture
def state() -> dict[str, Tensor]:
    torch.manual_seed(0)
    tensors = {"boundaries": torch.tensor([5, 6], dtype=torch.int32)}
    for layer in ("layers.0", "layers.1"):
        for part, rows in {"q_proj": 4, "k_proj": 2, "v_proj": 2}.items():
            tensors[f"{layer}.attention.{part}.weight"] = torch.randn(rows, 4)
            tensors[f"{layer}.attention.{part}.bias"] = torch.randn(rows)
        tensors[f"{layer}.attention.o_proj.weight"] = torch.randn(4, 4)
        tensors[f"{layer}.norm.weight"] = torch.randn(4)
    return tensors


def same(left: dict[str, Tensor], right: dict[str, Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_a_fused_module_is_filled_from_and_exported_to_released_names(state: dict[str, Tensor]) -> None:
    model = Model()
    load_into(model, state)
    attention = model.layers[1]["attention"]
    assert torch.equal(attention.qkv.weight[4:6], state["layers.1.attention.k_proj.weight"])
    assert torch.equal(attention.qkv.bias[6:], state["layers.1.attention.v_proj.bias"])
    assert same(export_state(model), state)


def test_an_export_is_a_copy_that_can_be_saved(state: dict[str, Tensor], tmp_path: Path) -> None:
    model = Model()
    load_into(model, state)
    exported = export_state(model)
    model.layers[0]["norm"].weight.data.zero_()
    save_file(exported, tmp_path / "model.safetensors")
    assert same(load_state(tmp_path), state)


def test_every_difference_is_named_and_nothing_is_changed(state: dict[str, Tensor]) -> None:
    model = Model()
    before = export_state(model)
    del state["layers.0.attention.k_proj.weight"]
    state["extra.weight"] = torch.zeros(1)
    state["layers.1.norm.weight"] = torch.zeros(5)
    with pytest.raises(WeightError) as refusal:
        load_into(model, state)
    assert refusal.value.missing == ["layers.0.attention.k_proj.weight"]
    assert refusal.value.unexpected == ["extra.weight"]
    assert refusal.value.mismatched == ["layers.1.norm.weight is [5], expected [4]"]
    for name in ("layers.0.attention.k_proj.weight", "extra.weight", "layers.1.norm.weight is [5]"):
        assert name in str(refusal.value)
    assert same(export_state(model), before)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.bool])
def test_weights_that_are_no_floats_are_refused(state: dict[str, Tensor], dtype: torch.dtype) -> None:
    state["layers.0.norm.weight"] = state["layers.0.norm.weight"].to(dtype)
    with pytest.raises(WeightError, match=f"layers.0.norm.weight is {dtype}, expected a float"):
        load_into(Model(), state)


def test_of_many_differences_the_first_are_told(state: dict[str, Tensor]) -> None:
    strange = {f"layers.{place}.scale": torch.zeros(1) for place in range(400)}
    with pytest.raises(WeightError, match=r"unexpected \(400\): layers.0.scale, .* and 392 more$") as refusal:
        load_into(Model(), state | strange)
    assert refusal.value.unexpected == list(strange)


def test_ignored_names_may_be_missing_or_unexpected(state: dict[str, Tensor]) -> None:
    del state["boundaries"]
    state["decoder.a"] = state["decoder.b"] = torch.zeros(1)
    model = Model()
    load_into(model, state, ignore=["boundaries", "decoder.*"])
    assert model.boundaries.tolist() == [1, 2]
    with pytest.raises(WeightError, match=r"unexpected \(1\): decoder.b"):
        load_into(model, state, ignore=["boundaries", "decoder.a"])


def test_without_strict_names_may_differ_but_shapes_may_not(state: dict[str, Tensor]) -> None:
    del state["boundaries"]
    state["other"] = torch.zeros(1)
    load_into(Model(), state, strict=False)
    state["layers.0.norm.weight"] = torch.zeros(3)
    with pytest.raises(WeightError, match="wrong shape"):
        load_into(Model(), state, strict=False)


def test_loading_casts_to_the_module_or_to_the_dtype_asked_for(state: dict[str, Tensor]) -> None:
    half = {name: value.bfloat16() if value.is_floating_point() else value for name, value in state.items()}
    model = Model()
    load_into(model, half)
    assert model.layers[0]["norm"].weight.dtype is torch.float32
    load_into(model, state, dtype=torch.bfloat16)
    assert same(export_state(model), half)
    assert model.boundaries.dtype is torch.int32


def test_a_module_on_the_meta_device_is_materialised(state: dict[str, Tensor]) -> None:
    with torch.device("meta"):
        model = Model()
    load_into(model, state)
    assert same(export_state(model), state)
    assert torch.equal(model.rope.frequencies, Model().rope.frequencies)


def test_what_was_computed_elsewhere_is_kept_when_the_rest_is_materialised(state: dict[str, Tensor]) -> None:
    with torch.device("meta"):
        model = Model()
        model.register_buffer("table", torch.arange(3, device="cpu"), persistent=False)
    load_into(model, state, dtype=torch.bfloat16)
    assert torch.equal(model.table, torch.arange(3))
    assert model.layers[0]["norm"].weight.dtype is torch.bfloat16


def test_a_computed_buffer_on_the_meta_device_is_an_error(state: dict[str, Tensor]) -> None:
    with torch.device("meta"):
        model = Model()
        model.register_buffer("table", torch.arange(3), persistent=False)
    with pytest.raises(WeightError, match="no checkpoint holds: table"):
        load_into(model, state)


def write_shards(state: dict[str, Tensor], directory: Path) -> None:
    names = sorted(state)
    weight_map = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(names)}
    for file in set(weight_map.values()):
        save_file({name: state[name] for name in names if weight_map[name] == file}, directory / file)
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))


def write_bin_shards(state: dict[str, Tensor], directory: Path) -> None:
    names = sorted(state)
    torch.save({name: state[name] for name in names[:3]}, directory / "a.bin")
    torch.save({name: state[name] for name in names[3:]}, directory / "b.bin")
    weight_map = {name: "a.bin" if name in names[:3] else "b.bin" for name in names}
    (directory / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": weight_map}))


LAYOUTS = {
    "safetensors": lambda state, folder: save_file(state, folder / "model.safetensors"),
    "safetensors shards": write_shards,
    "bin": lambda state, folder: torch.save(state, folder / "pytorch_model.bin"),
    "bin, nested": lambda state, folder: torch.save(
        {"state_dict": state, "step": 7}, folder / "pytorch_model.bin"
    ),
    "bin, old format": lambda state, folder: torch.save(
        state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=False
    ),
    "bin shards": write_bin_shards,
    "pth": lambda state, folder: torch.save(state, folder / "model.pth"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_reads_the_same(layout: str, state: dict[str, Tensor], tmp_path: Path) -> None:
    LAYOUTS[layout](state, tmp_path)
    save_file({"stray": torch.zeros(1)}, tmp_path / "optimizer.safetensors")
    assert same(load_state(tmp_path), state)


def test_a_stem_names_another_checkpoint_of_the_directory(tmp_path: Path) -> None:
    save_file({"lm": torch.zeros(1)}, tmp_path / "model.safetensors")
    torch.save({"state_dict": {"vae": torch.ones(1)}}, tmp_path / "audiovae.pth")
    assert load_state(tmp_path, "audiovae").keys() == {"vae"}
    assert load_state(tmp_path / "audiovae.pth").keys() == {"vae"}
    save_file({"vae2": torch.ones(1)}, tmp_path / "audiovae.safetensors")
    assert load_state(tmp_path, "audiovae").keys() == {"vae2"}


def test_an_absent_checkpoint_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(WeightError, match=r"no checkpoint 'model' .* model.safetensors, pytorch_model.bin"):
        load_state(tmp_path)
    with pytest.raises(WeightError, match="cannot read"):
        load_state(tmp_path / "absent.safetensors")
    with pytest.raises(WeightError, match="cannot read"):
        load_state(tmp_path / "absent.pth")


def test_a_bad_index_is_named(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "one.safetensors", "b": "two.safetensors"}}))
    save_file({"a": torch.zeros(1)}, tmp_path / "one.safetensors")
    with pytest.raises(WeightError, match=r"do not exist: two.safetensors"):
        load_state(tmp_path)
    save_file({"a": torch.zeros(1)}, tmp_path / "two.safetensors")
    with pytest.raises(WeightError, match="repeats names of an earlier shard: a"):
        load_state(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a": "../outside.safetensors"}}))
    with pytest.raises(WeightError, match="outside its directory"):
        load_state(tmp_path)
    for content in ("not json", "[]", '{"metadata": {}}'):
        index.write_text(content)
        with pytest.raises(WeightError, match="no weight index"):
            load_state(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04 cut"])
def test_a_damaged_file_is_an_error_with_its_name(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeightError, match=re.escape(name)):
        load_state(tmp_path)


@pytest.mark.parametrize("as_archive", [True, False])
def test_a_damaged_pickle_is_an_error_with_its_name(as_archive: bool, tmp_path: Path) -> None:
    file = tmp_path / "pytorch_model.bin"
    state = {f"layer.{number}.weight": torch.ones(2) for number in range(20)}
    torch.save(state, file, _use_new_zipfile_serialization=as_archive)
    content = file.read_bytes()
    assert load_state(tmp_path).keys() == state.keys()
    for place in range(0, len(content), 41):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x85]) + content[place + 1 :])
        with suppress(WeightError):
            load_state(tmp_path)
        file.write_bytes(content[:place])
        with pytest.raises(WeightError, match=re.escape(file.name)):
            load_state(tmp_path)


def test_a_pickle_for_which_memory_is_short_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*arguments: object, **options: object) -> None:
        raise MemoryError

    torch.save({"a": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    monkeypatch.setattr(torch, "load", short)
    with pytest.raises(MemoryError):
        load_state(tmp_path)


class Command:
    """Runs a command when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize(
    "save", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value, protocol=2))]
)
def test_a_pickle_cannot_run_code(save: object, tmp_path: Path) -> None:
    """S10: a checkpoint is data."""
    save({"a": Command(tmp_path / "owned")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(WeightError, match="cannot read"):
        load_state(tmp_path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(("content", "message"), [([1, 2], "holds a list"), ({"a": 1}, "no tensors: a")])
def test_a_pickle_of_something_else_is_refused(content: object, message: str, tmp_path: Path) -> None:
    torch.save(content, tmp_path / "pytorch_model.bin")
    with pytest.raises(WeightError, match=message):
        load_state(tmp_path)
