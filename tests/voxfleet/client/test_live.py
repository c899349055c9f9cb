"""Live sessions by the Python client, with and without asyncio."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.gateway.stages.processes import LONG_TEXT, GatewayProcess, all_free, started_fleets
from tests.voxfleet.client.alice import KEY, serves_alice
from voxfleet.client import AsyncClient, AuthenticationError, Client, InvalidRequestError, UnreachableError

WORDS = "It is late. The lamps are lit along the river, and nobody is on the bridge."


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    settings = serves_alice(tmp_path_factory.mktemp("data"))
    with started_fleets() as start:
        yield start(1, slots=2, step_ms=10, gateway=settings)[0]


def kinds(items: list[dict[str, Any] | bytes]) -> set[str]:
    return {item["type"] for item in items if isinstance(item, dict)}


async def test_words_go_in_while_audio_comes_out(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client, client.live(seed=3) as session:
        for word in WORDS.split(" "):
            await session.append(word + " ")
        await session.flush()
        await session.stop()
        items = [item async for item in session]
    pcm = b"".join(item for item in items if isinstance(item, bytes))
    spoken = [item for item in items if isinstance(item, dict) and item["type"] == "utterance"]
    assert " ".join(item["text"].strip() for item in spoken).split() == WORDS.split()
    assert items[-1]["type"] == "done" and items[-1]["utterances"] == len(spoken)
    assert len(pcm) // 2 == session.received_samples == items[-1]["samples"]
    assert session.sample_rate == 24000 and session.session_id is None


async def test_after_a_barge_in_no_old_audio_comes(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client, client.live(seed=3) as session:
        await session.append(LONG_TEXT)
        seen: list[dict[str, Any] | bytes] = []
        interrupted = False
        async for item in session:
            seen.append(item)
            if isinstance(item, bytes) and not interrupted:
                interrupted = True
                seen.clear()
                await session.cancel(session.received_samples)
            if isinstance(item, dict) and item["type"] == "cancelled":
                assert not any(isinstance(earlier, bytes) for earlier in seen)
                assert item["played_samples"] <= session.received_samples
                await session.append("Yes, please. ")
                await session.stop()
        assert "cancelled" in kinds(seen) and any(isinstance(item, bytes) for item in seen)
    await all_free(gateway)


async def test_pauses_are_confirmed_and_playback_is_reported(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client, client.live(record=True) as session:
        await session.append(LONG_TEXT)
        items = []
        async for item in session:
            items.append(item)
            if isinstance(item, bytes) and "paused" not in kinds(items) and len(items) < 50:
                await session.pause()
            elif isinstance(item, dict) and item["type"] == "paused":
                await session.report(underruns=0, played_samples=100, buffered_ms=20)
                await session.resume()
                await session.cancel(session.received_samples)
                await session.stop()
        assert {"started", "paused", "cancelled", "done"} <= kinds(items)
        assert session.session_id is not None
        assert (await client.session(session.session_id))["session"]["kind"] == "live"


def test_a_session_without_asyncio_is_heard_in_one_thread_and_spoken_to_from_another(
    gateway: GatewayProcess,
) -> None:
    with Client(gateway.url, api_key=KEY) as client:
        with client.live(seed=3) as session:

            def dictate() -> None:
                for word in WORDS.split(" "):
                    session.append(word + " ")
                session.stop()

            dictating = threading.Thread(target=dictate)
            dictating.start()
            items = list(session)
            dictating.join()
        assert items[-1]["type"] == "done"
        assert session.received_samples == sum(len(item) for item in items if isinstance(item, bytes)) // 2
        with pytest.raises(UnreachableError):
            session.append("Too late.")
    with pytest.raises(RuntimeError, match="closed"):
        session.append("Far too late.")


def test_a_session_that_was_not_begun_says_how_it_is() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(RuntimeError, match="`with`"):
        client.live().append("Hello.")
    with Client("http://127.0.0.1:9") as client, pytest.raises(RuntimeError, match="`with`"):
        list(client.live())


async def test_failures_are_typed(gateway: GatewayProcess) -> None:
    async with AsyncClient(gateway.url, api_key=KEY) as client:
        with pytest.raises(InvalidRequestError) as caught:
            async with client.live(cfg_value=99) as session:
                await anext(aiter(session))
        assert caught.value.param == "cfg_value"
    async with AsyncClient(gateway.url) as client:
        with pytest.raises(AuthenticationError):
            async with client.live() as session:
                await anext(aiter(session))


@pytest.mark.parametrize("paused", [False, True])
async def test_a_live_session_is_stopped_like_any_stream(gateway: GatewayProcess, paused: bool) -> None:
    async with (
        AsyncClient(gateway.url, api_key=KEY) as client,
        gateway.http() as http,
        client.live() as session,
    ):
        await session.append(LONG_TEXT * 3)
        was_ended = False
        with pytest.raises(InvalidRequestError) as caught:
            async for item in session:
                kind = item["type"] if isinstance(item, dict) else "audio"
                if kind == "audio" and paused:
                    await session.pause()
                if kind == ("paused" if paused else "audio") and not was_ended:
                    was_ended = True  # audio that was sent before may still come
                    (running,) = (await http.get("/api/queue")).json()["running"]
                    assert running["mode"] == ("DUPLEX_PAUSED" if paused else "DUPLEX_ACTIVE")
                    ended = await http.delete(f"/api/queue/{running['ticket_id']}")
                    assert ended.status_code == 200
        assert caught.value.code == "cancelled"
    await all_free(gateway)
