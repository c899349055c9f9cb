"""Characters with their times, as ElevenLabs' clients read them: over HTTP and over sockets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.timing.part import PartTimes


def in_seconds(parts: Sequence[PartTimes]) -> dict[str, Any] | None:
    """Over HTTP: seconds from the beginning of the clip; None where nothing is said."""
    timed = [(part.written(each), each) for part in parts for each in part.characters]
    if not timed:
        return None
    return {
        "characters": [character for character, _ in timed],
        "character_start_times_seconds": [round(each.start_seconds, 3) for _, each in timed],
        "character_end_times_seconds": [round(each.end_seconds, 3) for _, each in timed],
    }


def in_milliseconds(part: PartTimes, origin: float) -> dict[str, Any]:
    """Over a socket: from `origin`, where the times that were told before have ended.

    The last character lasts until the end of the part's audio: clients add up these times to find the place
    of the next message.
    """
    timed = part.characters
    starts = [max(0, round(1000 * (each.start_seconds - origin))) for each in timed]
    ends = [*starts[1:], round(1000 * (part.end_seconds - origin))]
    return {
        "chars": [part.written(each) for each in timed],
        "charStartTimesMs": starts,
        "charDurationsMs": [max(0, after - start) for start, after in zip(starts, ends, strict=True)],
    }
