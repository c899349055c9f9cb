"""Work in small steps, between which whoever does it may do something else.

def squares(most):                      # of type Steps[list[int]]
    found = []
    for number in range(most):
        found.append(number * number)
        yield
    return found

finished(squares(3)) == [0, 1, 4]       # all at once; `yield from squares(3)` as part of other steps
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
Steps = Generator[None, None, Result]


def finished(steps: Steps[Result]) -> Result:
    """The result of the steps, all taken at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
