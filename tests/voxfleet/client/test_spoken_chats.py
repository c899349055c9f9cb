"""Answers that the Python client hears while they are written, and their place in line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.stages.processes import GatewayProcess, all_free, started_fleets
from tests.text_models import telling_model
from voxfleet.client import AsyncClient, Client, InvalidRequestError

QUESTION = "What did you see?"
SHORT = {"max_tokens": 24, "seed": 3}
ENDLESS = {"max_tokens": 4000, "seed": 3}
QUEUE = {"include_queue": True}
PCM_RATE = 24000


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """One slot to write with, and slots to speak with."""
    model = telling_model(tmp_path_factory.mktemp("models") / "teller")
    with started_fleets() as start:
        workers = [start.worker(model=str(model), device="cpu", slots=1), start.worker(step_ms=5)]
        yield start.gateway(workers).wait_until_serving(2)


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[Client]:
    with Client(gateway.url) as opened:
        yield opened


def of_kind(kind: type, items: list[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]


async def test_an_answer_is_heard_while_it_is_read(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url) as client:
        read = await client.chat(QUESTION, enable_thinking=False, **SHORT)
        stream = client.stream_chat(QUESTION, audio={"voice": "alloy"}, **SHORT)
        items = [item async for item in stream]
    assert "".join(of_kind(str, items)) == read.text
    assert stream.answer == read
    assert len(b"".join(of_kind(bytes, items))) / 2 / PCM_RATE == pytest.approx(len(read.text) / 15, rel=0.3)
    assert len(of_kind(str, items)) + len(of_kind(bytes, items)) == len(items)


def test_without_asyncio_it_is_heard_too_in_a_format_of_ones_own(client: Client) -> None:
    items = list(client.stream_chat(QUESTION, audio={"format": "flac"}, **SHORT))
    assert b"".join(of_kind(bytes, items)).startswith(b"fLaC")
    assert of_kind(str, items)


async def test_one_that_is_left_at_its_first_audio_ends_on_the_server(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url) as client:
        stream = client.stream_chat(QUESTION, audio={}, **ENDLESS)
        async for item in stream:
            if isinstance(item, bytes):
                break
        assert isinstance(item, bytes) and stream.answer is None
        await stream.aclose()
    await all_free(gateway)


@pytest.mark.parametrize("spoken", [{}, {"audio": {"voice": "default"}}], ids=["read", "heard"])
def test_who_waits_learns_its_place_where_it_asks_for_that(client: Client, spoken: dict[str, Any]) -> None:
    ahead = client.stream_chat(QUESTION, **ENDLESS)
    writing = iter(ahead)
    assert next(writing)
    behind = client.stream_chat(QUESTION, stream_options=QUEUE, **spoken, **SHORT)
    items = iter(behind)
    first = next(items)
    assert (first["type"], first["position"]) == ("queued", 1)
    assert first.keys() == {"type", "position", "eta_seconds"}
    ahead.close()
    rest = list(items)
    assert "".join(of_kind(str, rest)) == behind.answer.text
    assert bool(of_kind(bytes, rest)) == bool(spoken)
    assert behind.answer.completion_tokens == SHORT["max_tokens"]


def test_what_cannot_be_spoken_is_refused_as_other_calls_are(client: Client) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        list(client.stream_chat(QUESTION, audio={"voice": "nobody"}, **SHORT))
    assert (caught.value.status_code, caught.value.param) == (404, "voice")
    with pytest.raises(ValueError, match=r"^audio is no option: .* by stream_chat$"):
        client.chat(QUESTION, audio={"voice": "alloy"})
