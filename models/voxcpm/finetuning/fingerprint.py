"""What a run began with, noted in its folder: it goes on with the same recordings and options alone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from models.voxcpm.finetuning.options import FinetuneOptions
from models.voxcpm.finetuning.recordings.dataset import RUN_FILE, OtherRunError, Recording
from models.whole_files import write_atomically

STATE = "state.pt"
"""What was learnt so far, in the folder of work."""


def claim(out: Path, data: Path, recordings: list[Recording], options: FinetuneOptions) -> None:
    """Note what the run in `out` begins with; `data`: what the recordings were read from, which may be moved.

    Raises OtherRunError where one has learnt something already that began with something else.
    """
    folder = data if data.is_dir() else data.parent
    digest = _sum_of_all([_name_in(folder, item.audio) for item in recordings], recordings, options)
    by_paths = _sum_of_all(
        [str(item.audio) for item in recordings], recordings, options
    )  # as older runs have it
    audio = hashlib.sha256("".join(map(_sum_of, (item.audio for item in recordings))).encode()).hexdigest()
    file = out / RUN_FILE
    began = _began_with(file)
    if began.get("digest") in (digest, by_paths) and began.get("audio", audio) == audio:
        return
    if (file.parent / STATE).exists():
        raise OtherRunError(
            f"{out.name} holds a run with other recordings or options; choose another name, or remove it"
        )
    told = {"digest": digest, "audio": audio, "options": asdict(options)}
    write_atomically(file, (json.dumps(told, indent=2) + "\n").encode())


def _name_in(folder: Path, file: Path) -> str:
    return str(file.relative_to(folder) if file.is_relative_to(folder) else file)


def _sum_of_all(names: list[str], recordings: list[Recording], options: FinetuneOptions) -> str:
    """With these names of the recordings."""
    what = asdict(options) | {"device": "", "threads": 0}
    named = zip(names, recordings, strict=True)
    what["recordings"] = [[name, item.text, item.speaker] for name, item in named]
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _began_with(file: Path) -> dict[str, Any]:
    """What a run began with; nothing where there was none, or the file was cut, so that nobody knows."""
    try:
        return json.loads(file.read_text())
    except (FileNotFoundError, ValueError):
        return {}


def _sum_of(recording: Path) -> str:
    """The SHA-256 of a file; "" if it cannot be read, which is reported when all recordings are examined."""
    try:
        with recording.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
