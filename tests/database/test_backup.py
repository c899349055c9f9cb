"""The commands of docs/operating.md make a backup of a folder that is in use."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "operating.md"


def said_to_do() -> str:
    section = DOCUMENT.read_text().split("## Backups")[1]
    block = re.search(r"```bash\n(.*?)```", section, re.DOTALL)
    assert block
    return block[1]


def tools(folder: Path) -> Path:
    """What copies files: it says that one was removed meanwhile, as it may be in a folder in use."""
    folder.mkdir()
    for name in ("cp", "tar"):
        (folder / name).write_text(f'#!/bin/sh\n{shutil.which(name)} "$@"\nexit 1\n')
        (folder / name).chmod(0o755)
    (folder / "python3").symlink_to(sys.executable)
    return folder


def test_a_backup_is_whole_though_a_file_goes_away_meanwhile(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "sessions" / "s_1").mkdir(parents=True)
    (data / "sessions" / "s_1" / "journal").write_text("said")
    with closing(sqlite3.connect(data / "voxfleet.db")) as in_use:
        in_use.execute("PRAGMA journal_mode=WAL")
        in_use.execute("CREATE TABLE voices (name)")
        in_use.execute("INSERT INTO voices VALUES ('Ann')")
        in_use.commit()
        path = f"{tools(tmp_path / 'bin')}{os.pathsep}{os.environ['PATH']}"
        for _ in range(2):  # the second is made over the first
            subprocess.run(["sh", "-c", said_to_do()], cwd=tmp_path, env={**os.environ, "PATH": path})
    backup = tmp_path / "backup"
    assert {path.name for path in backup.iterdir()} == {"sessions", "voxfleet.db"}
    assert (backup / "sessions" / "s_1" / "journal").read_text() == "said"
    assert {path.name for path in tmp_path.iterdir()} == {"backup", "bin", "data"}
    with closing(sqlite3.connect(backup / "voxfleet.db")) as restored:
        assert restored.execute("SELECT name FROM voices").fetchall() == [("Ann",)]
