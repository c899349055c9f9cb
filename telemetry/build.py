"""Which build of VoxFleet runs: the version, and the commit where that is known.

    build()      # "0.1.0+734aafb80d12"; "0.1.0" where no commit is known

The commit is what `VOXFLEET_COMMIT` names, as images have it, or else what is checked out where this file
lies. Changes that are not committed do not show.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

VERSION = "0.1.0"
"""The version in pyproject.toml."""
VARIABLE = "VOXFLEET_COMMIT"
_FOLDER = Path(__file__).resolve().parent.parent
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_REF = re.compile(r"refs/(?!.*\.\.)[\w./@+-]{1,200}", re.ASCII)
_SHOWN_DIGITS = 12
_LONGEST_LINE = 4096
_LONGEST_LIST = 1 << 22
"""Bytes of a list of all branches and tags."""


@cache
def build() -> str:
    """Asked for at the start, it stays what was started, whatever is checked out later."""
    commit = commit_of(os.environ, _FOLDER)
    return VERSION if commit is None else f"{VERSION}+{commit[:_SHOWN_DIGITS]}"


def commit_of(environment: Mapping[str, str], folder: Path) -> str | None:
    """What the environment names, or else what is checked out in `folder`; None where neither says."""
    if named := environment.get(VARIABLE, "").strip().lower():
        return named if _COMMIT.fullmatch(named) else None
    try:
        return _checked_out(folder)
    except (OSError, UnicodeDecodeError):  # no clone, or one of somebody else
        return None


def _checked_out(folder: Path) -> str | None:
    git = folder / ".git"
    if git.is_file():  # of a further working tree
        git = folder / _read(git).removeprefix("gitdir: ")
    head = _read(git / "HEAD")
    if not head.startswith("ref: "):
        return _commit(head)
    ref = head.removeprefix("ref: ")
    if not _REF.fullmatch(ref):
        return None
    shared = git / _read(git / "commondir") if (git / "commondir").is_file() else git
    if (shared / ref).is_file():
        return _commit(_read(shared / ref))
    for line in _read(shared / "packed-refs", _LONGEST_LIST).splitlines():
        commit, _, name = line.partition(" ")
        if name == ref:
            return _commit(commit)
    return None


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _read(path: Path, most: int = _LONGEST_LINE) -> str:
    with path.open("rb") as file:
        return file.read(most).decode().strip()
