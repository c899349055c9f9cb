"""When the words of a job are said: kept and told a part at a time, so that a book takes no memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gateway.files.plain_files import open_file
from gateway.timing.part import PartTimes
from gateway.timing.subtitles import Cue, as_fields
from gateway.timing.words import Granularity


def words_of(part: PartTimes, granularity: Granularity) -> dict[str, Any]:
    """What is kept of a part, whose times are those of the whole audio."""
    return {**as_fields(part, granularity), "text": part.text}


class JobWords:
    """What was kept of all parts, in order; a `Told`. Blocks, and raises OSError."""

    def __init__(self, path: Path, granularity: Granularity) -> None:
        self._path = path
        self.granularity = granularity

    @property
    def source(self) -> str:
        """Where the times come from; `mixed` where parts differ."""
        sources = {part["source"] for part in self._parts() if part["cues"]}
        return "mixed" if len(sources) > 1 else "".join(sources) or "estimated"

    def texts(self) -> Iterator[str]:
        """The text of each part, with the white space around it."""
        return (part["text"] for part in self._parts())

    def timed(self) -> Iterator[dict[str, Any]]:
        """Words, or characters, with their times."""
        return (each for part in self._parts() for each in part[f"{self.granularity}s"])

    def cues(self) -> Iterator[Cue]:
        """Cues of subtitles, each within a part."""
        return (Cue(**cue) for part in self._parts() for cue in part["cues"])

    def _parts(self) -> Iterator[dict[str, Any]]:
        with open_file(self._path, "r") as lines:
            for line in lines:
                yield json.loads(line)
