"""Characters with their times, as ElevenLabs' clients read them: over HTTP and over sockets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.streams.character_times import Timed


def in_seconds(timed: Sequence[Timed]) -> dict[str, Any] | None:
    """Over HTTP: seconds from the beginning of the clip; None where nothing is said."""
    if not timed:
        return None
    return {
        "characters": [each.character for each in timed],
        "character_start_times_seconds": [round(each.start, 3) for each in timed],
        "character_end_times_seconds": [round(each.end, 3) for each in timed],
    }


def in_milliseconds(timed: Sequence[Timed], origin: float, end: float) -> dict[str, Any] | None:
    """Over a socket: from `origin`, where the audio of the message begins.

    The last character lasts until `end`, where that audio ends: clients add up these times to find the place
    of the next message.
    """
    if not timed:
        return None
    starts = [max(0, round(1000 * (each.start - origin))) for each in timed]
    ends = [*starts[1:], round(1000 * (end - origin))]
    return {
        "chars": [each.character for each in timed],
        "charStartTimesMs": starts,
        "charDurationsMs": [max(0, after - start) for start, after in zip(starts, ends, strict=True)],
    }
