"""The files of one session, and how they are written so that a crash at any moment leaves them readable.

    data/sessions/{id}/
        meta.json         what it is and how it ended, replaced as a whole
        recording.jsonl   the timeline while it grows, one line per event; its writer holds a lock on it
        recording.json    the timeline, once the session has ended
        audio/0000.wav    one per utterance; the header is true after every append
        merged.wav        all utterances one after the other

All functions block and raise OSError. They are called by the writer's thread or by threads for reading.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway.files.plain_files import descriptor_of, is_plain, open_file, read_file
from gateway.files.whole_files import UNFINISHED, write_atomically
from gateway.sessions.storage.wav import WavFile, is_noted, read_pcm, wav_sample_rate, write_all

META = "meta.json"
JOURNAL = "recording.jsonl"
TIMELINE = "recording.json"
MERGED = "merged.wav"
UNMERGED = "merged.tmp"
"""It, while it is made anew."""
AUDIO = "audio"
_SESSION_ID = re.compile(r"s_[A-Za-z0-9_-]{22}")


def new_session_id() -> str:
    """128 random bits: whoever does not know it cannot guess it."""
    return f"s_{secrets.token_urlsafe(16)}"


def is_session_id(text: str) -> bool:
    """Whether `text` has the form of an id, and so is safe as the name of a folder."""
    return _SESSION_ID.fullmatch(text) is not None


def session_folder(sessions: Path, session_id: str) -> Path:
    """The folder of a session below `sessions`. Raises ValueError for what is no id."""
    if not is_session_id(session_id):
        raise ValueError("not the id of a session")
    return sessions / session_id


def utterance_file(folder: Path, index: int) -> Path:
    """The audio of one utterance."""
    return folder / AUDIO / f"{index:04d}.wav"


def utterance_files(folder: Path) -> list[Path]:
    """The audio of all utterances, in order."""
    return sorted((folder / AUDIO).glob("[0-9]*.wav"), key=lambda path: int(path.stem))


def write_json(path: Path, value: Any, *, durable: bool = True) -> None:
    """Replace a file in one step; see `write_atomically`."""
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    write_atomically(path, content, durable=durable)


@contextlib.contextmanager
def changing(folder: Path) -> Iterator[None]:
    """Change a session that has ended, alone among all processes. Raises FileNotFoundError for none."""
    descriptor = descriptor_of(folder / META, os.O_RDWR)  # the same file from the session's end on
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def read_json(path: Path) -> dict[str, Any] | None:
    """The mapping in a file; None when there is none that can be read as such."""
    try:
        value = json.loads(read_file(path))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a journal; what a crash left of the last one is skipped."""
    try:
        file = open_file(path)
    except FileNotFoundError:
        return
    with file:
        for line in file:
            with contextlib.suppress(ValueError):
                if isinstance(value := json.loads(line), dict):
                    yield value


def folder_bytes(folder: Path) -> int:
    """Disk space of a session; a file with two names counts once."""
    seen: dict[int, int] = {}
    for path in (*folder.glob("*"), *(folder / AUDIO).glob("*")):
        with contextlib.suppress(FileNotFoundError):
            status = path.lstat()
            seen[status.st_ino] = 0 if path.is_dir() else status.st_size
    return sum(seen.values())


def last_written_at(folder: Path) -> float:
    """POSIX time of the latest change of any file."""
    times = [folder.lstat().st_mtime]
    for path in (*folder.glob("*"), *(folder / AUDIO).glob("*")):
        with contextlib.suppress(FileNotFoundError):
            times.append(path.lstat().st_mtime)
    return max(times)


def is_being_written(folder: Path) -> bool:
    """Whether some process holds the journal of this session."""
    if not is_plain(folder / JOURNAL):
        return False
    try:
        descriptor = descriptor_of(folder / JOURNAL, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def remove_folder(folder: Path) -> None:
    """Remove a session with all its files; nothing happens when there is none."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def remove_unfinished(folder: Path) -> None:
    """What was being made anew when the writer of a session was killed."""
    for path in (folder / UNMERGED, *folder.glob(f"{UNFINISHED}*")):
        path.unlink(missing_ok=True)


class Journal:
    """Lines of JSON that grow. Its lock tells other processes that somebody is still writing."""

    def __init__(self, path: Path) -> None:
        """Raises BlockingIOError when another process writes it."""
        self._descriptor = descriptor_of(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise

    def write(self, line: dict[str, Any]) -> None:
        """Append one line."""
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        write_all(self._descriptor, f"{text}\n".encode())

    def close(self) -> None:
        """Let go of the file and the lock."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def merge(folder: Path) -> None:
    """Write merged.wav anew: one utterance gets a second name, several are copied one after the other.

    It says that a model made it where the first utterance does.
    """
    target = folder / MERGED
    paths = utterance_files(folder)
    temporary = folder / UNMERGED
    for path in (temporary, target):
        path.unlink(missing_ok=True)
    if not paths:
        return
    if len(paths) == 1 and link(paths[0], target):
        return
    merged = WavFile(temporary, wav_sample_rate(paths[0]), noted=is_noted(paths[0]))
    try:
        for path in paths:
            for pcm in read_pcm(path):
                merged.append(pcm)
    finally:
        merged.close()
    temporary.replace(target)


def link(source: Path, target: Path) -> bool:
    """Give a file a second name; False where the file system has none."""
    try:
        os.link(source, target)
    except OSError:
        return False
    return True
