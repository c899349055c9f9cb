"""A file is written whole or not at all, and a full disk is an OSError whoever writes."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError

from models.voxcpm.training.stages.common import load_checkpoint, save_checkpoint
from models.whole_files import replacing, write_atomically

STATE = {"weights": torch.zeros(100_000)}


def by_numpy(path: Path) -> None:
    with replacing(path) as partial, partial.open("wb") as file:
        np.save(file, STATE["weights"].numpy())


def by_torch(path: Path) -> None:
    save_checkpoint(path, STATE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full is Linux's")
@pytest.mark.parametrize("write", [by_torch, by_numpy])
def test_a_full_disk_is_told_as_one_and_leaves_nothing(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_bytes(b"before")
    (tmp_path / "state.partial").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        write(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"before" and list(tmp_path.iterdir()) == [path]
    write(path)
    assert path.stat().st_size >= 400_000


def test_safetensors_says_only_in_words_that_the_disk_is_full(tmp_path: Path) -> None:
    told = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
    with pytest.raises(OSError, match=r"No space left on device: .*state'$"), replacing(tmp_path / "state"):
        raise told


def test_what_is_wrong_with_a_state_is_no_fault_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such thing"), replacing(tmp_path / "state"):
        raise RuntimeError("no such thing")
    assert load_checkpoint(tmp_path / "state", torch.device("cpu")) is None


def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state"
    synced: list[tuple[int, bool]] = []
    sync = os.fsync

    def noting(file: int) -> None:
        sync(file)
        synced.append((os.fstat(file).st_size, path.exists()))

    monkeypatch.setattr(os, "fsync", noting)
    write_atomically(path, b"all of it")
    assert synced == [(9, False)] and path.read_bytes() == b"all of it"
