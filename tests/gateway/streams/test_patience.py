"""Speech that has begun asks again, unless more of it was heard since."""

from __future__ import annotations

import pytest

from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from gateway.synthesis import patience
from gateway.synthesis.patience import Patience


@pytest.mark.parametrize("heard_more", [False, True])
async def test_a_refusal_counts_once_more_was_heard(
    heard_more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.0)
    tries, heard = 0, 7

    async def ask() -> str:
        nonlocal tries, heard
        tries += 1
        if tries == 1:
            heard += heard_more
            raise ApiError(429, "queue_full", "the queue is full")
        return "spoken"

    persisting = Patience(GatewaySettings(_env_file=None), "r").persist(ask, lambda: heard)
    if heard_more:
        with pytest.raises(ApiError, match="full"):
            await persisting
    else:
        assert await persisting == "spoken"
    assert tries == 2 - heard_more
