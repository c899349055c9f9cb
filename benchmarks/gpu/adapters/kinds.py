"""Which streams of a step have adapters, and how what it takes is compared."""

from __future__ import annotations

from collections.abc import Mapping


def kinds_of(streams: int, different: tuple[int, ...]) -> dict[str, list[str | None]]:
    """By kind the adapter of each stream: none; so many different ones, the others none; one of so many."""
    kinds: dict[str, list[str | None]] = {"plain": [None] * streams}
    for count in different:
        names = [str(number) for number in range(count)]
        kinds[f"{count} different"] = [*names, *[None] * (streams - count)]
        if streams > 1:
            kinds[f"all, {count} different"] = [names[i % count] for i in range(streams)]
    return kinds


def more_percent(milliseconds: Mapping[str, float]) -> dict[str, float]:
    """How much more each kind takes than plain."""
    plain = milliseconds["plain"]
    return {kind: round(100 * (value / plain - 1), 2) for kind, value in milliseconds.items()}
