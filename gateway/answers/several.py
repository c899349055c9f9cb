"""Several answers at once, for one request: choices of one prompt, or one each of several prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.answers.writing import AnswerOutcome, Writing


async def write_all(writings: Sequence[Writing]) -> list[AnswerOutcome]:
    """Their outcomes, in order. When one fails the others end, too. Raises ApiError."""
    if len(writings) == 1:
        return [await writings[0].run()]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(writing.run()) for writing in writings]
    except BaseExceptionGroup as failed:
        raise _first(failed) from None
    return [task.result() for task in tasks]


def _first(failed: BaseExceptionGroup) -> BaseException:
    error = failed.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error
