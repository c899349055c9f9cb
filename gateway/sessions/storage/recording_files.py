"""One recording on disk while it grows, and the work of ending it, orderly or after a crash."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway.files.disk import FULL, Disk
from gateway.sessions.search import folded_text
from gateway.sessions.storage import files, timeline, wav
from gateway.sessions.storage.shape import DamagedSession, checked
from gateway.sessions.storage.spoken import estimate_by_audio

_CHECK_BYTES = 1 << 20
_META_FIELDS = ("id", "kind", "created_at")


@dataclass(frozen=True)
class Facts:
    """What the index keeps of a session that has ended."""

    state: str
    ended_at: datetime
    utterances: int
    audio_seconds: float
    size_bytes: int
    search_text: str


class RecordingFiles:
    """Written by one thread. Everything raises OSError; what was written before stays readable."""

    def __init__(self, folder: Path, *, noted: bool, disk: Disk | None = None) -> None:
        """`noted`: the files of audio say that a model made them. `disk`: if given, it must have room."""
        self.folder = folder
        self._disk = disk
        self._unchecked_bytes = 0
        """Written since the disk was asked."""
        self._noted = noted
        self._journal: files.Journal | None = None
        self._utterance: wav.WavFile | None = None
        self._index = -1
        self._merged: wav.WavFile | None = None

    def begin(self, first_line: dict[str, Any]) -> None:
        """Make the folder. `first_line`: id, kind, created_at (ISO 8601) and the request."""
        self._check_room(_CHECK_BYTES)
        self.folder.mkdir(parents=True, mode=0o700)
        (self.folder / files.AUDIO).mkdir()
        self._journal = files.Journal(self.folder / files.JOURNAL)
        self._journal.write(first_line)
        meta = {name: first_line[name] for name in _META_FIELDS}
        files.write_json(self.folder / files.META, {**meta, "state": "active"}, durable=False)

    def write(self, line: dict[str, Any]) -> None:
        """The next line of the timeline."""
        if self._journal is not None:
            self._journal.write(line)

    def audio(self, line: dict[str, Any], pcm: bytes, sample_rate: int) -> None:
        """The next samples (s16le, mono) of utterance `line["index"]`, then their line."""
        self._check_room(2 * len(pcm))
        if line["index"] != self._index:
            self._begin_utterance(line["index"], sample_rate)
        self._utterance.append(pcm)
        if self._merged is not None:
            self._merged.append(pcm)
        self.write(line)

    def _check_room(self, size_bytes: int) -> None:
        """Before so much is written. Asks the disk once in a megabyte."""
        self._unchecked_bytes += size_bytes
        if self._disk is not None and self._unchecked_bytes >= _CHECK_BYTES:
            self._unchecked_bytes = 0
            self._disk.check()

    def _begin_utterance(self, index: int, sample_rate: int) -> None:
        """merged.wav is the first utterance by another name until there is a second one."""
        is_first = self._utterance is None
        if not is_first:
            self._utterance.close()
        path = files.utterance_file(self.folder, index)
        merged = self.folder / files.MERGED
        self._utterance = wav.WavFile(path, sample_rate, noted=self._noted)
        self._index = index
        if is_first and files.link(path, merged):
            return
        if self._merged is None:
            self._merged = _copy(self.folder, merged, sample_rate, self._noted)

    def finish(self, outcome: str) -> Facts:
        """The end of a whole recording."""
        self.close_audio()
        facts = finalise(self.folder, "complete", outcome)
        self.close()
        return facts

    def abandon(self, reason: str) -> Facts:
        """The end of a recording that cannot go on, as far as it can still be written."""
        self.close_audio()
        try:
            return finalise(self.folder, "interrupted", None, reason)
        finally:
            self.close()

    def close_audio(self) -> None:
        """Let go of the audio files."""
        for file in (self._utterance, self._merged):
            if file is not None:
                file.close()

    def close(self) -> None:
        """Let go of all files; other processes see that nobody writes the session any more."""
        self.close_audio()
        if self._journal is not None:
            self._journal.close()
            self._journal = None


def _copy(folder: Path, target: Path, sample_rate: int, noted: bool) -> wav.WavFile:
    """A file of its own for all utterances, with those that there are."""
    temporary = folder / files.UNMERGED
    temporary.unlink(missing_ok=True)
    merged = wav.WavFile(temporary, sample_rate, noted=noted)
    try:
        for path in files.utterance_files(folder):
            for pcm in wav.read_pcm(path):
                merged.append(pcm)
        temporary.replace(target)
    except OSError:
        merged.close()
        raise
    return merged


def finalise(folder: Path, state: str, outcome: str | None, reason: str | None = None) -> Facts:
    """Make recording.json of the journal, say in meta.json how it ended, and drop the journal.

    The caller holds the journal's lock. Raises OSError.
    """
    journal = folder / files.JOURNAL
    lines = [*files.read_lines(journal)]
    if outcome is not None:
        lines.append({"type": "end", "at": lines[-1].get("at", 0.0) if lines else 0.0, "outcome": outcome})
    built = timeline.build(lines)
    estimate_by_audio(folder, built)
    files.write_json(folder / files.TIMELINE, built)
    facts = _facts(folder, state, built)
    meta = files.read_json(folder / files.META) or {"id": folder.name}
    files.write_json(folder / files.META, _ended_meta(meta, facts, built, reason))
    journal.unlink(missing_ok=True)
    return facts


def _facts(folder: Path, state: str, built: dict[str, Any]) -> Facts:
    return Facts(
        state=state,
        ended_at=datetime.fromtimestamp(files.last_written_at(folder), UTC),
        utterances=len(built["utterances"]),
        audio_seconds=built["audio_seconds"],
        size_bytes=files.folder_bytes(folder),
        search_text=folded_text(built),
    )


def _ended_meta(
    meta: dict[str, Any], facts: Facts, built: dict[str, Any], reason: str | None
) -> dict[str, Any]:
    return {
        **meta,
        "state": facts.state,
        "ended_at": facts.ended_at.isoformat(),
        "outcome": built["outcome"],
        "reason": reason,
        "utterances": facts.utterances,
        "audio_seconds": facts.audio_seconds,
        "sample_rate": built["sample_rate"],
        "size_bytes": facts.size_bytes,
    }


def recover(folder: Path, reason: str = "gateway_died") -> Facts | None:
    """Bring a session in order whose writer is gone; None when somebody still writes it.

    Raises FileNotFoundError when there is no folder, and OSError.
    """
    os.stat(folder)
    if facts := _facts_of(folder):
        return facts
    try:
        journal = files.Journal(folder / files.JOURNAL)
    except BlockingIOError:
        return None
    try:
        if facts := _facts_of(folder):
            (folder / files.JOURNAL).unlink(missing_ok=True)
            return facts
        files.remove_unfinished(folder)
        for path in files.utterance_files(folder):
            wav.repair_wav(path)
        if _needs_merging(folder):
            files.merge(folder)
        return finalise(folder, "interrupted", None, reason)
    finally:
        journal.close()


def _needs_merging(folder: Path) -> bool:
    """Whether merged.wav is something else than the utterances there are."""
    merged = folder / files.MERGED
    try:
        merged_bytes, is_true = wav.data_bytes_on_disk(merged), wav.states_its_size(merged)
    except (FileNotFoundError, ValueError):
        return True
    return not is_true or merged_bytes != sum(map(wav.data_bytes_on_disk, files.utterance_files(folder)))


def _facts_of(folder: Path) -> Facts | None:
    """What meta.json says of a session that has ended; None for one that has not."""
    meta = files.read_json(folder / files.META) or {}
    if meta.get("state", "active") == "active":
        return None
    return Facts(
        state=str(meta["state"]),
        ended_at=datetime.fromisoformat(meta["ended_at"]),
        utterances=int(meta["utterances"]),
        audio_seconds=float(meta["audio_seconds"]),
        size_bytes=int(meta["size_bytes"]),
        search_text=folded_text(read_timeline(folder)),
    )


def read_timeline(folder: Path) -> dict[str, Any]:
    """The timeline of a session, also of one that is being recorded or was cut off.

    Raises OSError, and DamagedSession.
    """
    if (found := files.read_json(folder / files.TIMELINE)) is None:
        try:
            found = timeline.build(files.read_lines(folder / files.JOURNAL))
        except (LookupError, TypeError, ValueError) as error:  # of a line that is none of ours
            raise DamagedSession("the journal is damaged") from error
    return checked(found)


def reason_of(error: Exception) -> str:
    """Why a recording stopped, as one of the words that the metric has."""
    if isinstance(error, OverflowError):
        return "too_long"
    if isinstance(error, OSError):
        return "disk_full" if error.errno in FULL else "disk_error"
    return "internal_error"
