"""The folder of one job, written so that a crash at any moment leaves what its row tells of.

    data/jobs/{id}/
        request.json   what was asked for, the text included
        chapters.json  where its chapters begin
        clip.json      the clip as it began: model, seed, words that are said otherwise
        audio.pcm      s16le mono at the model's rate
        parts.jsonl    characters and samples of each part
        words.jsonl    when the words of each part are said, where that was asked for
        lock           held by the process that works on the job

Functions and methods block, and raise OSError.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from gateway.files.disk import Disk
from gateway.files.folder_lock import FolderLock
from gateway.files.plain_files import open_file
from gateway.jobs.chapters import Chapter, SpokenPart
from gateway.sessions.storage.files import folder_bytes, read_json, remove_folder, write_json

_JOB_ID = re.compile(r"j_[A-Za-z0-9_-]{22}")
_REQUEST, _CHAPTERS, _CLIP = "request.json", "chapters.json", "clip.json"
_AUDIO, _PARTS, _WORDS, _LOCK = "audio.pcm", "parts.jsonl", "words.jsonl", "lock"


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
        self.words = self.folder / _WORDS
        self._parts = self.folder / _PARTS
        self._lock = FolderLock(self.folder / _LOCK)

    def create(self, request: dict[str, Any], chapters: Sequence[Chapter], disk: Disk) -> None:
        """A new folder. Raises FileExistsError, and OSError ENOSPC when too little is free."""
        disk.check()
        self.folder.mkdir(parents=True, mode=0o700)
        self.ask_for(request)
        write_json(self.folder / _CHAPTERS, {"chapters": [asdict(chapter) for chapter in chapters]})

    def ask_for(self, request: dict[str, Any]) -> None:
        """Write down what is to be spoken."""
        write_json(self.folder / _REQUEST, request)

    def make_folder(self) -> None:
        """Have one, as a job has that was not created by `create`."""
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)

    def lock(self) -> bool:
        """Become the one process that works on the job. False when another is, or there is no folder."""
        return self._lock.acquire()

    def unlock(self) -> None:
        """Let others have it."""
        self._lock.release()

    @property
    def request(self) -> dict[str, Any] | None:
        """The request that made the job."""
        return read_json(self.folder / _REQUEST)

    @property
    def chapters(self) -> list[Chapter]:
        """Where the chapters begin."""
        kept = read_json(self.folder / _CHAPTERS) or {}
        return [Chapter(**fields) for fields in kept.get("chapters", ())]

    @property
    def clip(self) -> dict[str, Any] | None:
        """The clip that was begun."""
        return read_json(self.folder / _CLIP)

    def keep_clip(self, fields: dict[str, Any]) -> None:
        """Write down which clip it is, before its first part, and whose voice the others have."""
        write_json(self.folder / _CLIP, fields)

    def go_back(self, parts: int, audio_bytes: int) -> bool:
        """Forget what was written behind so many parts: their row does not tell of it. False where less is
        there, as after a disk lost what it was given.
        """
        lines = [self._parts, *([self.words] if self.words.is_file() else ())]
        if not all(_keep_lines(path, parts) for path in lines):
            return False
        with open_file(self.audio, "ab") as file:
            if file.tell() < audio_bytes:
                return False
            file.truncate(audio_bytes)
        return True

    def append(self, pcm: bytes, part: SpokenPart, words: dict[str, Any] | None, disk: Disk) -> int:
        """Add a part; how much disk space the job takes then. `words`: when they are said."""
        disk.check()
        _append(self.audio, pcm)
        _append_line(self._parts, [part.start, part.end, part.samples])
        if words is not None:
            _append_line(self.words, words)
        return folder_bytes(self.folder)

    def parts(self) -> list[SpokenPart]:
        """The parts that were spoken; what a crash left of a line is skipped."""
        try:
            with open_file(self._parts, "r") as lines:
                return [SpokenPart(*json.loads(line)) for line in lines if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def remove(self) -> None:
        """All of it; nothing happens when there is none."""
        remove_folder(self.folder)


def _append_line(path: Path, value: Any) -> None:
    _append(path, (json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n").encode())


def _append(path: Path, content: bytes) -> None:
    with open_file(path, "ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _keep_lines(path: Path, count: int) -> bool:
    """Cut off what stands behind so many lines; False when there are fewer."""
    with open_file(path, "ab+") as file:
        file.seek(0)
        if sum(line.endswith(b"\n") for line in islice(file, count)) < count:
            return False
        file.truncate(file.tell())
    return True
