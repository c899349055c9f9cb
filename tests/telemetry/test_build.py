"""Which build says that it runs: of an image, of a clone, of neither."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from telemetry.build import VARIABLE, VERSION, commit_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {".git/HEAD": f"{COMMIT}\n"},
        {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{COMMIT}\n"},
        {
            ".git/HEAD": "ref: refs/heads/a/b\n",
            ".git/packed-refs": f"# pack-refs with: peeled\n{OTHER} refs/heads/a\n{COMMIT} refs/heads/a/b\n",
        },
        {
            ".git": "gitdir: repository/worktrees/one\n",
            "repository/worktrees/one/HEAD": "ref: refs/heads/one\n",
            "repository/worktrees/one/commondir": "../..\n",
            "repository/refs/heads/one": f"{COMMIT}\n",
        },
    ],
    ids=["a commit", "a branch", "a packed branch", "a further working tree"],
)
def test_of_a_clone_the_commit_is_what_is_checked_out(tmp_path: Path, files: dict[str, str]) -> None:
    folder = written(tmp_path, files)
    assert commit_of({}, folder) == COMMIT
    assert commit_of({VARIABLE: ""}, folder) == COMMIT
    assert commit_of({VARIABLE: f" {OTHER.upper()}"}, folder) == OTHER


@pytest.mark.parametrize(
    "files",
    [
        {},
        {".git/HEAD": ""},
        {".git/HEAD": "ref: refs/heads/none\n"},
        {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": "<b>no commit</b>"},
        {".git/HEAD": "ref: refs/../secret\n", ".git/secret": COMMIT},
        {".git/HEAD": "ref: ../secret\n", "secret": COMMIT},
        {".git/HEAD": COMMIT * 1000},
        {".git": "gitdir: nowhere\n"},
    ],
)
def test_what_is_no_commit_is_not_told(tmp_path: Path, files: dict[str, str]) -> None:
    assert commit_of({}, written(tmp_path, files)) is None


@pytest.mark.parametrize("named", ["main", "v0.2", "0123456\nforged", "x" * 40, "a" * 65, "$COMMIT"])
def test_a_variable_that_names_no_commit_is_not_told(tmp_path: Path, named: str) -> None:
    assert commit_of({VARIABLE: named}, written(tmp_path, {".git/HEAD": COMMIT})) is None


def test_a_process_tells_its_version_and_a_short_commit() -> None:
    ask = [sys.executable, "-c", "from telemetry.build import build; print(build())"]
    root = Path(__file__).resolve().parents[2]
    told = subprocess.check_output(ask, env={VARIABLE: COMMIT, "PYTHONPATH": str(root)}, text=True)
    assert told == f"{VERSION}+0123456789ab\n"
