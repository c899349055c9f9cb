"""Which take of a block is heard.

The one that somebody chose, until the block says something else and there is a take of that; else the first
take of what the block says now; else the last of what it said before, which is stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gateway.database import BookBlock, Job


def chosen(block: BookBlock, takes: Sequence[Job]) -> Job | None:
    """The take that is heard, from `takes`, oldest first; None where none is ready, or there are no words."""
    if not block.said:
        return None
    ready = [take for take in takes if take.state == "complete"]
    fresh = [take for take in ready if take.said == block.said]
    named = next((take for take in ready if take.id == block.take), None)
    if named is not None and (named in fresh or block.take_said == block.said or not fresh):
        return named
    return fresh[0] if fresh else (ready[-1] if ready else None)


def is_made(block: BookBlock, takes: Iterable[Job]) -> bool:
    """Whether there is nothing to be made of it: a take of what it says now, or no words."""
    return not block.said or any(take.state == "complete" and take.said == block.said for take in takes)


def is_awaited(block: BookBlock, takes: Iterable[Job]) -> bool:
    """Whether a take of what it says now waits, or is being made. One that waits will say that."""
    return any(
        take.state == "queued" or (take.state == "running" and take.said in (None, block.said))
        for take in takes
    )
