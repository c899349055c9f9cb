"""The folder of one job, written so that a crash at any moment leaves what its row tells of.

    data/jobs/{id}/
        request.json   what was asked for, the text included
        chapters.json  where its chapters begin
        clip.json      the clip as it began: model, seed, words that are said otherwise
        audio.pcm      s16le mono at the model's rate
        parts.jsonl    characters and samples of each part
        lock           held by the process that works on the job

Functions and methods block, and raise OSError.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gateway.disk import Disk
from gateway.jobs.chapters import Chapter, SpokenPart
from gateway.sessions.files import folder_bytes, read_json, remove_folder, write_json

_JOB_ID = re.compile(r"j_[A-Za-z0-9_-]{22}")
_REQUEST, _CHAPTERS, _CLIP = "request.json", "chapters.json", "clip.json"
_AUDIO, _PARTS, _LOCK = "audio.pcm", "parts.jsonl", "lock"


def new_job_id() -> str:
    """128 random bits: whoever does not know it cannot guess it."""
    return f"j_{secrets.token_urlsafe(16)}"


def is_job_id(text: str) -> bool:
    """Whether `text` has the form of an id, and so is safe as the name of a folder."""
    return _JOB_ID.fullmatch(text) is not None


class JobFiles:
    """Reads and writes one folder."""

    def __init__(self, jobs: Path, job_id: str) -> None:
        """`jobs`: the folder of all. Raises ValueError for what is no id."""
        if not is_job_id(job_id):
            raise ValueError("not the id of a job")
        self.folder = jobs / job_id
        self.audio = self.folder / _AUDIO
        self._lock: int | None = None

    def create(self, request: dict[str, Any], chapters: Sequence[Chapter], disk: Disk) -> None:
        """A new folder. Raises FileExistsError, and OSError ENOSPC when too little is free."""
        disk.check()
        self.folder.mkdir(parents=True, mode=0o700)
        write_json(self.folder / _REQUEST, request)
        write_json(self.folder / _CHAPTERS, {"chapters": [asdict(chapter) for chapter in chapters]})

    def lock(self) -> bool:
        """Become the one process that works on the job. False when another is, or there is no folder."""
        try:
            descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except (FileNotFoundError, NotADirectoryError):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def unlock(self) -> None:
        """Let others have it."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def request(self) -> dict[str, Any] | None:
        """What was asked for."""
        return read_json(self.folder / _REQUEST)

    @property
    def chapters(self) -> list[Chapter]:
        """Where they begin."""
        kept = read_json(self.folder / _CHAPTERS) or {}
        return [Chapter(**fields) for fields in kept.get("chapters", ())]

    @property
    def clip(self) -> dict[str, Any] | None:
        """The clip that was begun."""
        return read_json(self.folder / _CLIP)

    def keep_clip(self, fields: dict[str, Any]) -> None:
        """Write down which clip it is, before its first part."""
        write_json(self.folder / _CLIP, fields)

    def go_back(self, parts: int, audio_bytes: int) -> None:
        """Forget what was written behind so many parts: their row does not tell of it."""
        lines = self._lines()[:parts]
        if len(lines) < parts or (parts and self.audio.stat().st_size < audio_bytes):
            raise OSError("the files of the job are shorter than its row says")
        self._write_lines(lines)
        with self.audio.open("ab") as file:
            file.truncate(audio_bytes)

    def append(self, pcm: bytes, part: SpokenPart, disk: Disk) -> int:
        """Add a part; how much disk space the job takes then."""
        disk.check()
        with self.audio.open("ab") as file:
            file.write(pcm)
            file.flush()
            os.fsync(file.fileno())
        with (self.folder / _PARTS).open("a", encoding="ascii") as file:
            file.write(json.dumps([part.start, part.end, part.samples]) + "\n")
        return folder_bytes(self.folder)

    def parts(self) -> list[SpokenPart]:
        """Those that were spoken."""
        return [SpokenPart(*json.loads(line)) for line in self._lines()]

    def remove(self) -> None:
        """All of it; nothing happens when there is none."""
        remove_folder(self.folder)

    def _lines(self) -> list[str]:
        try:
            return (self.folder / _PARTS).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []

    def _write_lines(self, lines: list[str]) -> None:
        path = self.folder / _PARTS
        temporary = path.with_name(f"{_PARTS}.tmp")
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        temporary.replace(path)
