"""Several voices in one stretch of speech: what waits for its voice."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.dialogues.cast import Cast
from gateway.slots.line.standing import Priority


class Looked(list[str]):
    """Knows whether it was looked at."""

    seen = 0

    def __iter__(self) -> Iterator[str]:
        self.seen += 1
        return super().__iter__()


def speaker(said: list[str]) -> SimpleNamespace:
    """Says what it is told, at once."""

    async def run() -> None:
        pass

    def nothing(*_: object) -> None:
        pass

    return SimpleNamespace(
        append=said.append, open=nothing, flush=nothing, finish=nothing, run=run, finishing=False
    )


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def cast(said: list[str]) -> Cast:
    opened = Cast(lambda start: speaker(said), Start(type="start"), lambda: None, most_characters=10)
    opened.open(Caller("ann", Priority.DEFAULT))
    opened.turn_to("ruth")
    return opened


def test_what_waits_is_not_counted_again_with_each_piece(cast: Cast) -> None:
    """Sockets that sent a hundred short lines in a message held up everybody, each for a second."""
    cast._later[-1].texts = pieces = Looked()
    for _ in range(10):
        cast.append("a")
    assert (len(pieces), pieces.seen) == (10, 0)


async def test_so_many_characters_wait_and_no_more(cast: Cast, said: list[str]) -> None:
    cast.append("a" * 6)
    cast.turn_to("walter")
    cast.append("b" * 4)
    with pytest.raises(ApiError, match="10 characters wait"):
        cast.append("c")
    await cast.run()
    assert said == ["aaaaaa", "bbbb"]
    cast.turn_to("ruth")
    cast.append("d" * 10)
