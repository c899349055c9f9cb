"""Which program serves a batch: the smallest that has room.

rows = Sizes({1: a, 2: b, 4: c})
rows.smallest(3)                             # c
decodes = Decodes()
decodes.add(4, 1024, a)                      # rows, positions
decodes.smallest(3, longest_context=700)     # a
chunks = Rooms([((1, 64), d), ((4, 256), e)])
chunks.pack([60, 100, 100, 70])              # [(e, 2), (e, 2)]
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from engine.attention import StepShape

Program = TypeVar("Program")
Room = tuple[int, int]
"""Chunks of prompts, and their positions in all."""
SHORT_CONTEXT = 1024
"""Positions; attention over a shorter room is split less, so short contexts have programs of their own."""
SHORT_CONTEXT_ROWS = 8
"""Decodes up to which they have; more fill a device without as many splits as that."""


def decode_shapes(sizes: Sequence[int], longest_context: int) -> list[StepShape]:
    """The shapes of programs for decodes of `sizes` rows, with short contexts and with the longest."""
    short = [SHORT_CONTEXT] if longest_context > SHORT_CONTEXT else []
    return [
        StepShape(rows, max_context=context)
        for context in (*short, longest_context)
        for rows in sizes
        if context == longest_context or rows <= SHORT_CONTEXT_ROWS
    ]


class Sizes(Generic[Program]):
    """Programs by the number of rows that they have room for."""

    def __init__(self, programs: Mapping[int, Program] | None = None) -> None:
        self._programs = sorted((programs or {}).items(), key=lambda entry: entry[0])

    def add(self, size: int, program: Program) -> None:
        bisect.insort(self._programs, (size, program), key=lambda entry: entry[0])

    def __iter__(self) -> Iterator[Program]:
        return (program for _, program in self._programs)

    def smallest(self, size: int) -> Program | None:
        """The smallest with room for `size` rows; None where none has it."""
        place = bisect.bisect_left(self._programs, size, key=lambda entry: entry[0])
        return self._programs[place][1] if place < len(self._programs) else None


class Decodes(Generic[Program]):
    """Programs for decodes, by their rows and the longest context that they have room for."""

    def __init__(self) -> None:
        self._by_context: dict[int, Sizes[Program]] = {}

    def add(self, rows: int, context: int, program: Program) -> None:
        self._by_context.setdefault(context, Sizes()).add(rows, program)
        self._by_context = dict(sorted(self._by_context.items()))

    def __iter__(self) -> Iterator[Program]:
        return (program for programs in self._by_context.values() for program in programs)

    def smallest(self, rows: int, longest_context: int) -> Program | None:
        """The smallest with room for so many rows; None where none has it."""
        for context, programs in self._by_context.items():
            if longest_context <= context and (program := programs.smallest(rows)):
                return program
        return None


class Rooms(Generic[Program]):
    """Programs for chunks of prompts."""

    def __init__(self, programs: Iterable[tuple[Room, Program]] = ()) -> None:
        self._programs = sorted(programs, key=lambda entry: entry[0])

    def add(self, room: Room, program: Program) -> None:
        bisect.insort(self._programs, (room, program), key=lambda entry: entry[0])

    def __iter__(self) -> Iterator[Program]:
        return (program for _, program in self._programs)

    @property
    def longest_chunk(self) -> int:
        """Positions of the longest chunk that a program takes."""
        return max((positions for (_, positions), _ in self._programs), default=0)

    def smallest(self, count: int, tokens: int) -> Program | None:
        """The smallest with room for so many chunks, `tokens` positions in all."""
        for (chunks, positions), program in self._programs:
            if count <= chunks and tokens <= positions:
                return program
        return None

    def pack(self, lengths: list[int]) -> list[tuple[Program, int]]:
        """Programs for chunks of these lengths in turn, and how many each takes: as many as fit.

        No length may be above `longest_chunk`.
        """
        packed: list[tuple[Program, int]] = []
        count = tokens = 0
        for length in lengths:
            larger = self.smallest(count + 1, tokens + length)
            if larger is None:
                count = tokens = 0
                larger = self.smallest(1, length)
            elif count:
                packed.pop()
            count, tokens = count + 1, tokens + length
            packed.append((larger, count))
        return packed
