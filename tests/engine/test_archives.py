"""S10: a file of tensors that somebody sent costs no more than its size, whatever it says."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Mapping

import pytest
import torch
from safetensors.torch import save
from torch import nn

from engine.archives import MOST_HEAD_BYTES, checked_archive
from engine.errors import WeightError
from engine.weights import state_from_bytes

BEGIN, KEPT_TUPLE = b"\x80\x02", b")q\x00"


def archive(pickled: bytes, **more: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in {"data.pkl": pickled, "version": b"3\n", "byteorder": b"little", **more}.items():
            file.writestr(f"archive/{name}", content)
    return packed.getvalue()


def saved(content: object) -> bytes:
    packed = io.BytesIO()
    torch.save(content, packed)
    return packed.getvalue()


def doubled(times: int) -> bytes:
    """A key of a dictionary: a tuple of one tuple twice, and so on."""
    pairs = b"".join(b"h%b\x86q%b" % (bytes([n]), bytes([n + 1])) for n in range(times))
    return BEGIN + b"}" + KEPT_TUPLE + pairs + b"K\x01s."


HOSTILE = {
    "a key that is hashed for ever": archive(doubled(60)),
    "a key that is hashed so deep that the process dies": archive(
        BEGIN + b"})" + b"\x85" * 1_000_000 + b"K\x01s."
    ),
    "a key behind marks": archive(BEGIN + b"}" + b"(" * 1000 + b"t" * 1000 + b"K\x01s."),
    "memory that nothing fills": archive(
        BEGIN + b"cbuiltins\nbytearray\n\x8a\x06" + bytes(5) + b"\x01\x85R."
    ),
    "work": archive(BEGIN + b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R."),
    "a class by a name that is put together": archive(b"\x80\x04\x8c\x05torch\x8c\x06Tensor\x93."),
    "a pickle larger than all names": archive(BEGIN + b"](" + b"}" * MOST_HEAD_BYTES + b"e."),
    "many files": archive(BEGIN + b"}.", **{f"data/{n}": b"" for n in range(10_000)}),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_an_archive_that_holds_more_than_tensors_is_refused(content: bytes) -> None:
    with pytest.raises(WeightError, match="more than"):
        state_from_bytes(content)


@pytest.mark.parametrize("pickled", [BEGIN + b"\x87.", BEGIN + b"t.", BEGIN + b"h\x00.", BEGIN + b"}"])
def test_an_archive_whose_pickle_is_damaged_is_refused(pickled: bytes) -> None:
    with pytest.raises(WeightError, match="cannot be read"):
        state_from_bytes(archive(pickled))


def test_an_archive_with_two_files_of_one_name_is_refused() -> None:
    packed = io.BytesIO(saved({"a": torch.ones(2)}))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(packed, "a") as file:
        file.writestr(file.namelist()[0], b"")
    with pytest.raises(WeightError, match="two files of one name"):
        state_from_bytes(packed.getvalue())


def test_pytorch_reads_what_was_looked_at() -> None:
    content = saved({"a": torch.ones(2)})
    in_front = b"PK\x03\x04" + bytes(60)
    again = checked_archive(in_front + content).getvalue()
    assert again.startswith(b"PK\x03\x04") and in_front not in again
    assert state_from_bytes(in_front + content).keys() == {"a"}


@pytest.mark.parametrize(
    "head",
    [
        {f"{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(20_000)},
        {"__metadata__": {f"{n}": "" for n in range(100_000)}},
    ],
    ids=["tensors", "words"],
)
def test_safetensors_with_a_head_larger_than_all_names_are_refused(head: Mapping[str, object]) -> None:
    """They stopped all other threads for as long as it was read."""
    told = json.dumps(head).encode()
    with pytest.raises(WeightError, match="nor safetensors with a head of at most"):
        state_from_bytes(struct.pack("<Q", len(told)) + told)


TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.ones(4, dtype=torch.bfloat16).half()}
PLAIN = {
    "a dictionary": TENSORS,
    "an ordered one": OrderedDict(TENSORS),
    "parameters": {name: nn.Parameter(tensor) for name, tensor in TENSORS.items()},
    "part of a checkpoint": {"state_dict": TENSORS, "epoch": 3, "rates": [0.1, (1, 2)], "seed": 1 << 40},
}


@pytest.mark.parametrize("content", PLAIN.values(), ids=PLAIN)
def test_what_pytorch_saves_is_read(content: Mapping[str, object]) -> None:
    read = state_from_bytes(saved(content))
    assert {name: tensor.tolist() for name, tensor in read.items()} == {
        name: tensor.tolist() for name, tensor in TENSORS.items()
    }


def test_a_module_with_tensors_that_are_one_and_many_dimensions_is_read() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Linear(2, 2), nn.Linear(2, 2))
    module[2].weight = module[1].weight
    read = state_from_bytes(saved(module.state_dict()))
    assert read.keys() == module.state_dict().keys()
    assert state_from_bytes(save({"a": torch.ones(1)})).keys() == {"a"}


def test_tensors_without_a_name_are_refused() -> None:
    with pytest.raises(WeightError, match="without a name"):
        state_from_bytes(saved({5: torch.ones(1)}))
