"""A device that is lost: what ran there goes on elsewhere, and it is started again. Processes are played."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import DeviceLostError, EngineError, RequestError
from engine.output_stream import OutputStream
from models.lora.pool import AdapterInfo
from models.pool import member as member_module
from models.pool.member import Member
from models.pool.wire import error_record
from models.speech import ModelInfo, SpeechRequest
from models.voxcpm.pool.pool import DevicePool
from tests.models.pool.conftest import INFO, Player, Players, ended, output

ANNA = AdapterInfo("anna", "digest", 8, 4, 100, "", 400, True)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_module, "FIRST_PAUSE_SECONDS", 0.0)


@pytest.fixture
def pool(players: Players) -> Any:
    pool = players.pool(2)
    yield pool
    for member in pool._devices:
        member.process._process.kill()
    pool.close()


def in_thread(run: Callable[[], Any]) -> Future[Any]:
    result: Future[Any] = Future()

    def target() -> None:
        try:
            result.set_result(run())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=target, daemon=True).start()
    return result


def submitted(pool: DevicePool, player: Player, request: SpeechRequest) -> OutputStream:
    stream = in_thread(lambda: pool.submit(request))
    player.answer(player.asked())
    return stream.result(60)


def loaded(players: Players, info: ModelInfo = INFO) -> Player:
    """The next process that is started, once it has loaded."""
    player = players.next()
    asked = player.asked()
    assert asked["what"] == "load"
    player.answer(asked, info=info.to_dict())
    return player


def restarted(member: Member) -> None:
    """Once what began when its device was lost has ended."""
    member._thread.join(60)
    assert not member._thread.is_alive()


def with_anna(pool: DevicePool, *players: Player, info: AdapterInfo = ANNA) -> int:
    """The key that she has."""
    loading, keys = in_thread(lambda: pool.load_adapter("anna", Path("/adapters/anna"))), set()
    for what in ("change", "settle"):
        for player in players:
            asked = player.asked()
            assert asked["what"] == what
            keys.add(asked.get("key"))
            player.answer(asked, listed=[asdict(info)])
    loading.result(60)
    (key,) = keys - {None}
    return key


def test_a_clip_goes_on_where_its_device_was_lost(pool: DevicePool, players: Players) -> None:
    first, second = players.next(), players.next()
    stream = submitted(pool, first, SpeechRequest("r", "hello", 7, max_seconds=3.0))
    first.put(output("r", 0, silent=True), output("r", 1), output("r", 2))
    heard = [next(stream) for _ in range(3)]
    heard[0].latents[:] = 9.0  # who reads may write
    first.die()
    asked = second.asked()
    assert (asked["what"], asked["text"], asked["seed"], asked["max_seconds"]) == ("submit", "hello", 7, 3.0)
    assert asked["resume_latents"][:, 0, 0].tolist() == [0.0, 1.0, 2.0]
    assert asked["resume_silence"] == [1, 0, 2]
    second.answer(asked)
    second.put(output("r", 3, finish_reason="stop"), ended("r"))
    assert [found.index for found in stream] == [3]


def test_a_resumed_clip_goes_on_after_what_it_was_resumed_with(pool: DevicePool, players: Players) -> None:
    first, second = players.next(), players.next()
    before = np.full((2, 2, 2), 5.0, np.float32)
    request = SpeechRequest("r", "hello", 7, resume_latents=before, resume_silence=(1, 1, 0))
    submitted(pool, first, request)
    first.put(output("r", 2))
    first.die()
    asked = second.asked()
    assert asked["resume_latents"][:, 0, 0].tolist() == [5.0, 5.0, 2.0]
    assert asked["resume_silence"] == [1, 0, 1]


def test_a_request_that_no_device_has_taken_yet_goes_to_another(pool: DevicePool, players: Players) -> None:
    first, second = players.next(), players.next()
    stream = in_thread(lambda: pool.submit(SpeechRequest("r", "hello", 7)))
    first.asked()
    first.die()
    asked = second.asked()
    assert asked["resume_latents"] is None
    second.answer(asked, RequestError("too long", "text"))
    with pytest.raises(RequestError, match="too long"):
        stream.result(60)
    assert pool._devices[1].process.load == (0, 0)


def test_a_request_under_which_two_devices_were_lost_is_not_given_to_a_third(players: Players) -> None:
    pool = players.pool(3)
    first, second, third = (players.next() for _ in range(3))
    stream = submitted(pool, first, SpeechRequest("r", "hello", 7))
    first.die()
    second.answer(second.asked())
    second.die()
    with pytest.raises(DeviceLostError, match=r"^device cuda:1 is lost: "):
        next(stream)
    assert pool._devices[2].process.load == (0, 0)
    third.die()
    pool.close()


def test_a_recording_is_encoded_by_another_device_and_by_no_third(players: Players) -> None:
    pool = players.pool(3)
    first, second, third = (players.next() for _ in range(3))
    encoded = in_thread(lambda: pool.encode_audio(np.ones(3), 16000, "prompt"))
    assert first.asked()["what"] == "encode"
    first.die()
    asked = second.asked()
    assert asked["samples"].tolist() == [1.0, 1.0, 1.0] and asked["role"] == "prompt"
    second.answer(asked, latents=np.zeros((1, 2, 2)))
    assert encoded.result(60).shape == (1, 2, 2)
    encoded = in_thread(lambda: pool.encode_audio(np.ones(3), 16000, "prompt"))
    for player in (second, third):
        player.asked()
        player.die()
    with pytest.raises(DeviceLostError, match="cuda:2 is lost"):
        encoded.result(60)
    pool.close()


def test_what_is_cancelled_is_not_spoken_elsewhere(pool: DevicePool, players: Players) -> None:
    first, _ = players.next(), players.next()
    stream = submitted(pool, first, SpeechRequest("r", "hello", 7))
    stream.cancel()
    first.die()
    assert list(stream) == [] and pool._devices[1].process.load == (0, 0)


def test_an_adapter_that_was_replaced_stays_until_nobody_speaks_with_it(
    pool: DevicePool, players: Players
) -> None:
    first, second = players.next(), players.next()
    key = with_anna(pool, first, second)
    stream = submitted(pool, first, SpeechRequest("r", "hello", 7, adapter="anna"))
    other = with_anna(pool, first, second, info=replace(ANNA, digest="other"))
    first.die()
    asked = second.asked()
    assert key != other and (asked["what"], asked["adapter"]) == ("submit", key)
    second.answer(asked)
    second.put(output("r", 0, finish_reason="stop"), ended("r"))
    assert [found.index for found in stream] == [0]
    assert second.asked() == {"key": key}


def test_a_clip_ends_where_no_device_has_its_adapter_any_more(pool: DevicePool, players: Players) -> None:
    first, second = players.next(), players.next()
    with_anna(pool, first, second)
    stream = submitted(pool, first, SpeechRequest("r", "hello", 7, adapter="anna"))
    unloading = in_thread(lambda: pool.adapters.remove("anna"))
    for _ in ("change", "settle"):
        for player in (first, second):
            player.answer(player.asked(), listed=[])
    assert unloading.result(60)
    second.die()
    loaded(players)
    restarted(pool._devices[1])
    first.die()
    with pytest.raises(DeviceLostError, match="no device has the adapter any more"):
        next(stream)


def test_a_lost_device_is_started_again_with_the_adapters_of_the_others(
    pool: DevicePool, players: Players
) -> None:
    first, second = players.next(), players.next()
    key = with_anna(pool, first, second)
    first.die()
    again = loaded(players)
    assert [device.state for device in pool.devices] == ["starting", "serving"]
    assert pool.devices[0].problem.startswith("device cuda:0 is lost: its process ")
    for change in ("load", "enable"):
        asked = again.asked()
        assert (asked["change"], asked["name"]) == (change, "anna")
        assert asked.get("directory", "/adapters/anna") == "/adapters/anna" and asked.get("enabled", True)
        assert asked.get("key", key) == key
        again.answer(asked, listed=[asdict(ANNA)])
        again.answer(again.asked())
    restarted(pool._devices[0])
    assert [(device.state, device.problem) for device in pool.devices] == [("serving", "")] * 2
    submitted(pool, again, SpeechRequest("r", "hello", 7))


def test_a_device_that_fails_is_tried_some_times_and_given_up(
    pool: DevicePool, players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_module, "MOST_TRIES", 3)
    first, second = players.next(), players.next()
    with_anna(pool, first, second)
    first.die()
    loading = players.next()
    loading.answer(loading.asked(), EngineError("no memory"))
    loaded_then_died = loaded(players)
    loaded_then_died.asked()
    loaded_then_died.die()
    other = loaded(players)
    for _ in range(2):
        other.answer(other.asked(), listed=[asdict(ANNA) | {"digest": "other"}])
        other.answer(other.asked())
    restarted(pool._devices[0])
    state = pool.devices[0]
    assert state.state == "lost" and "/adapters/anna holds another adapter than 'anna'" in state.problem
    second.die()
    never = players.next()
    with pytest.raises(DeviceLostError, match=r"cuda:0 cannot be started again: .*; device cuda:1 is lost"):
        pool.submit(SpeechRequest("r", "hello", 7))
    never.die()


def test_a_checkpoint_that_was_replaced_is_not_spoken_with(
    pool: DevicePool, players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_module, "MOST_TRIES", 1)
    players.next().die()
    players.next()
    loaded(players, replace(INFO, revision="other"))
    restarted(pool._devices[0])
    assert pool.devices[0].problem.endswith("EngineError: tiny is another checkpoint by now")


def test_a_device_that_is_lost_again_soon_has_the_longer_pause(
    pool: DevicePool, players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, member = players.next(), pool._devices[0]
    players.next()
    first.die()
    again = loaded(players)
    restarted(member)
    again.die()
    once_more = loaded(players)
    restarted(member)
    assert member._tries == 2
    monkeypatch.setattr(member_module, "STABLE_SECONDS", 0.0)
    once_more.die()
    loaded(players)
    restarted(member)
    assert member._tries == 1
    monkeypatch.setattr(member_module, "FIRST_PAUSE_SECONDS", 1.0)
    assert list(member._pauses()) == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0, 60.0]


def test_a_pool_that_ends_while_a_device_is_started_again_ends_that_too(players: Players) -> None:
    pool = players.pool(1)
    first, member = players.next(), pool._devices[0]
    first.die()
    loading = players.next()
    loading.asked()
    pool.close()
    assert loading.process.returncode == -9 and not member._thread.is_alive()
    assert pool.devices[0].state == "lost"
    with pytest.raises(EngineError, match="the engine loop is closed"):
        pool.submit(SpeechRequest("r", "hello", 7))


def test_an_error_of_the_engine_stays_with_its_request(pool: DevicePool, players: Players) -> None:
    first, second = players.next(), players.next()
    stream = submitted(pool, first, SpeechRequest("r", "hello", 7))
    first.put({**ended("r"), "error": error_record(EngineError("taking up the request failed"))})
    with pytest.raises(EngineError, match="taking up"):
        next(stream)
    second.die()
    first.die()
