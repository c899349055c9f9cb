"""One session while it is recorded, as the event loop sees it: every call is an append and none raises."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import structlog

from gateway.files.disk import Disk
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import Facts, RecordingFiles, reason_of
from gateway.sessions.storage.writer import Writer
from gateway.text.printable import printable
from gateway.timing.part import PartTimes

logger = structlog.get_logger(__name__)

_TITLE_CHARACTERS = 80
_READ_FOR_TITLE = 1000
_VOICE_CHARACTERS = 128
_MAX_EARLY_LINES = 256
"""Events kept before the first utterance."""


class Stage(StrEnum):
    """What became of the files."""

    BEGUN = "begun"
    COMPLETE = "complete"
    FAILED = "failed"


class Recording:
    """Nothing is on disk before the first utterance: who never gets a worker leaves no session."""

    def __init__(
        self,
        sessions: Path,
        kind: str,
        request: dict[str, Any],
        owner: str,
        writer: Writer,
        on_begin: Callable[[Recording], None],
        on_change: Callable[[Recording, Stage], None],
        *,
        noted: bool,
        disk: Disk,
    ) -> None:
        """`noted`: its files say that a model made them. `disk`: must have room for them.

        Both are called on the event loop: `on_begin` with the first utterance, `on_change` by files.
        """
        self.session_id = files.new_session_id()
        self.kind = kind
        self.owner = owner
        self.voice = str(request.get("voice", "default"))[:_VOICE_CHARACTERS]
        self.created_at = datetime.now(UTC)
        self.title = ""
        self.first_text = ""
        self.seed: int | None = None
        """Of the first utterance, as its text."""
        self.begun = False
        """Whether there is anything of it on disk, or will be."""
        self.stages: list[Stage] = []
        """What the index knows of its files; empty while nothing came to disk."""
        self.ended = False
        """Nothing more will be written."""
        self.failure: str | None = None
        """Why the recording stopped before its session did."""
        self.facts: Facts | None = None
        """What was written, once all of it is."""
        self.indexed = False
        """Whether its row is in the database."""
        self.settled = asyncio.Event()
        """Set when files and database agree with what was recorded."""
        self.settled.set()
        self._request = request
        self._began_at = time.monotonic()
        self._writer = writer
        self._on_begin = on_begin
        self._on_change = on_change
        folder = files.session_folder(sessions, self.session_id)
        self._files = RecordingFiles(folder, noted=noted, disk=disk)
        self._early: list[dict[str, Any]] = []
        self._samples: list[int] = []
        self._rates: list[int] = []
        self._loop = asyncio.get_running_loop()

    def utterance(self, text: str, parameters: dict[str, Any]) -> int:
        """Begin the next utterance; its index."""
        index = len(self._samples)
        self._samples.append(0)
        self._rates.append(0)
        if not self.begun and not self.ended:
            self.first_text, self.seed = text, parameters.get("seed")
            self._begin(text)
        self._line("utterance", index=index, text=text, parameters=parameters)
        return index

    def event(self, kind: str, /, **facts: Any) -> None:
        """Anything worth a line in the timeline; `facts` are plain JSON values."""
        self._line("event", kind=kind, **facts)

    def worker(self, index: int, worker_id: str) -> None:
        """A worker begins to speak the utterance, or goes on with it after another one."""
        self._line("worker", index=index, worker_id=worker_id)

    def spoken(
        self,
        index: int,
        start: int,
        end: int,
        first_sample: int,
        end_sample: int | None = None,
        *,
        in_words: bool = False,
        respelt: Mapping[str, str] = MappingProxyType({}),
        language: str | None = None,
        pause_samples: int = 0,
        again: bool = False,
    ) -> None:
        """Characters [start, end) of the utterance's text are its audio from `first_sample` on.

        They end at `end_sample`, or where the next part begins. May be told before the audio comes.
        `in_words`: figures were put into words, see `gateway.text`. `respelt`: words and how they were said.
        `language`: its ISO 639 code, where it is known.
        `pause_samples`: of silence before it. `again`: instead of what was told last, which went wrong.
        """
        line = {"index": index, "start": start, "end": end, "first_sample": first_sample}
        said = {"in_words": in_words, "respelt": dict(respelt), "language": language}
        said |= {"pause_samples": pause_samples, "again": again}
        self._line("spoken", **line, end_sample=end_sample, **{name: it for name, it in said.items() if it})

    def words(self, index: int, part: PartTimes, sample_rate: int, samples_before: int = 0) -> None:
        """When the words of a part were said, of the utterance's text and audio.

        samples_before: of the clip, before what is recorded.
        """

        def sample(seconds: float) -> int:
            return max(0, round(seconds * sample_rate) - samples_before)

        words = [
            [word.start, word.end, sample(word.start_seconds), sample(word.end_seconds)]
            for word in part.words
        ]
        self._line("words", index=index, source=part.source, words=words)

    def audio(self, index: int, pcm: bytes, sample_rate: int) -> None:
        """The next s16le mono samples of the utterance. All of a session have one rate."""
        if not pcm or self.ended or not 0 <= index < len(self._samples):
            return
        line: dict[str, Any] = {"type": "audio", "at": self._now(), "index": index, "samples": len(pcm) // 2}
        if not self._samples[index]:
            line["sample_rate"] = self._rates[index] = sample_rate
        self._samples[index] += len(pcm) // 2
        self._put(partial(self._files.audio, line, pcm, sample_rate), len(pcm))

    def utterance_done(self, index: int, outcome: str) -> None:
        """Note how the utterance ended."""
        self._line("utterance_end", index=index, outcome=outcome)

    def finish(self, outcome: str) -> None:
        """The end of the session; later calls do nothing."""
        if self.begun and not self.ended:
            self.settled.clear()
            self._put(partial(self._finish, outcome), always=True)
        self.ended = True

    # ------------------------------------------------------------------------------ for the index

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio recorded so far."""
        return sum(samples / (rate or 1) for samples, rate in zip(self._samples, self._rates, strict=True))

    def progress(self) -> dict[str, Any]:
        """The changing columns of its row. What is not known by its files is an estimate."""
        if self.is_over and self.facts is not None:
            return {**vars(self.facts)}
        factor = 2 if len(self._samples) > 1 else 1
        columns = {
            "utterances": len(self._samples),
            "audio_seconds": self.audio_seconds,
            "size_bytes": factor * 2 * sum(self._samples),
        }
        return {**columns, "state": "interrupted", "ended_at": datetime.now(UTC)} if self.is_over else columns

    @property
    def is_over(self) -> bool:
        """Whether its files have said their last word."""
        return bool(self.stages) and self.stages[-1] is not Stage.BEGUN

    # --------------------------------------------------------------------------------- to the files

    def _now(self) -> float:
        return round(time.monotonic() - self._began_at, 4)

    def _begin(self, text: str) -> None:
        self.begun = True
        self.title = title_of(text)
        self.settled.clear()
        first_line = {
            "type": "session",
            "id": self.session_id,
            "kind": self.kind,
            "created_at": self.created_at.isoformat(),
            "request": self._request,
        }
        self._put(partial(self._begin_files, first_line, self._early))
        self._early = []
        self._on_begin(self)

    def _line(self, type: str, /, **fields: Any) -> None:
        if self.ended:
            return
        line = {**fields, "type": type, "at": self._now()}
        if self.begun:
            self._put(partial(self._files.write, line), len(fields.get("text", "")))
        elif len(self._early) < _MAX_EARLY_LINES:
            self._early.append(line)

    def _put(self, operation: Callable[[], None], size_bytes: int = 0, *, always: bool = False) -> None:
        if not self._writer.put(partial(self._run, operation), size_bytes, always=always):
            self.ended = True
            self.settled.clear()
            self._writer.put(partial(self._stop, "overloaded"), always=True)

    # ------------------------------------------------------------------------ on the writer's thread

    def _begin_files(self, first_line: dict[str, Any], early: list[dict[str, Any]]) -> None:
        self._files.begin(first_line)
        for line in early:
            self._files.write(line)
        self._tell(Stage.BEGUN)

    def _finish(self, outcome: str) -> None:
        self.facts = self._files.finish(outcome)
        self._tell(Stage.COMPLETE)

    def _run(self, operation: Callable[[], None]) -> None:
        if self.failure is not None:
            return
        try:
            operation()
        except Exception as error:
            self._stop(reason_of(error), error)

    def _stop(self, reason: str, cause: Exception | None = None) -> None:
        """End the recording, not its session. One line in the log."""
        if self.failure is not None:
            return
        self.failure = reason
        self.ended = True
        try:
            self.facts = self._files.abandon(reason)
        except Exception as error:
            cause = cause or error
        logger.warning(
            "a recording stopped", session_id=self.session_id, reason=reason, cause=type(cause).__name__,
            detail=cause.strerror if isinstance(cause, OSError) else None, meta_written=bool(self.facts),
        )  # fmt: skip
        self._tell(Stage.FAILED)

    def _tell(self, stage: Stage) -> None:
        try:
            self._loop.call_soon_threadsafe(self._on_change, self, stage)
        except RuntimeError:
            logger.warning("a session ended after its gateway", session_id=self.session_id)


def title_of(text: str) -> str:
    """The first words, as far as they can be shown."""
    line = printable(" ".join(text.lstrip()[:_READ_FOR_TITLE].split()))
    if len(line) <= _TITLE_CHARACTERS:
        return line
    head = line[: _TITLE_CHARACTERS - 1]
    cut = head.rfind(" ")
    return f"{head[:cut] if cut > _TITLE_CHARACTERS // 2 else head}…"
