"""Sequences by the names of their requests."""

from __future__ import annotations

from engine.sequence import Sequence


def names(sequences: list[Sequence]) -> list[str]:
    return [sequence.request_id for sequence in sequences]
