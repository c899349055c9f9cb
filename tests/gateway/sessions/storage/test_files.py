"""Files that are replaced as a whole, whoever else replaces them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.sessions.storage.files import read_json, write_json


def test_two_who_write_a_file_at_once_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "recording.json"
    long, short = {"by": "first", "words": [*range(1000)]}, {"by": "second"}

    def sync(_: int) -> None:
        write_json(path, short, durable=False)
        assert read_json(path) == short

    monkeypatch.setattr(os, "fsync", sync)
    write_json(path, long)
    assert read_json(path) == long
    assert [*tmp_path.iterdir()] == [path]


def test_a_file_that_cannot_be_replaced_leaves_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recording.json"
    write_json(path, {"by": "first"})

    def fail(_: int) -> None:
        raise OSError

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError):
        write_json(path, {"by": "second"})
    assert read_json(path) == {"by": "first"} and [*tmp_path.iterdir()] == [path]
