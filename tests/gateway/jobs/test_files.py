"""What is on the disk of a job when its row tells of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.files.disk import Disk
from gateway.jobs.chapters import SpokenPart
from gateway.jobs.files import JobFiles, new_job_id


def test_all_that_a_part_adds_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: dict[int, int] = {}

    def sync(file: int) -> None:
        status = os.fstat(file)
        synced[status.st_ino] = status.st_size

    monkeypatch.setattr(os, "fsync", sync)
    files = JobFiles(tmp_path, new_job_id())
    files.make_folder()
    for start in range(2):
        files.append(bytes(4), SpokenPart(start, start + 1, 2), {"words": []}, Disk(tmp_path, 0))
    written = {path.stat().st_ino: path.stat().st_size for path in files.folder.iterdir()}
    assert len(written) == 3 and synced == written
