"""What crosses between a pool and a process, with the process played by the test."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.errors import DeviceLostError, EngineError, OptionsError, RequestError, WeightError
from engine.output_stream import OutputStream
from engine.parallel.channel import HEADER, Channel, ChannelClosedError, Message, Number
from models.config_fields import ConfigError
from models.lora.adapter import AdapterError
from models.pool import serving as serving_module
from models.pool.device import DeviceProcess
from models.pool.wire import Kind, error_of, error_record, pack, unpack
from models.speech import SpeechRequest
from models.voxcpm.pool.request import PooledSpeech
from models.voxcpm.pool.serving import SpeechServing
from tests.models.pool.conftest import Players, ended, output


@pytest.fixture
def played(players: Players) -> Iterator[SimpleNamespace]:
    heard: list[Any] = []
    device = DeviceProcess("cuda:7", "", "child", lambda device, *told: heard.append(told))
    yield SimpleNamespace(device=device, inside=players.next(), heard=heard)
    device.end(at_once=True)
    device.close()


def speak(played: SimpleNamespace, request_id: str) -> OutputStream:
    """The stream of a request that was taken."""
    request = PooledSpeech(SpeechRequest(request_id, "hello", 1))
    request.give_to(played.device)
    played.inside.answer(played.inside.asked())
    request.accepted.result(60)
    return request.stream


def test_results_and_outputs_find_who_waits(played: SimpleNamespace) -> None:
    inside = played.inside
    stream, other = speak(played, "r"), speak(played, "s")
    calls = [played.device.call("encode", samples=np.arange(3.0), role=role) for role in ("a", "b")]
    asked = [inside.asked() for _ in calls]
    assert [record["role"] for record in asked] == ["a", "b"] and asked[0]["samples"].dtype == np.float64
    assert played.device.load == (2, 2)
    for record in reversed(asked):
        inside.answer(record, latents=record["role"])
    assert [call.result()["latents"] for call in calls] == ["a", "b"]
    inside.channel.send(Kind.PROGRESS, *pack([{"stage": "weights", "share": 0.5}]))
    inside.put(
        *(output("r", 0), output("gone", 0), output("s", 0), output("r", 1, finish_reason="stop")), ended("r")
    )
    assert [found.index for found in stream] == [0, 1] and played.heard == [("weights", 0.5)]
    inside.put({**ended("s"), "error": error_record(RequestError("too long", "text", "too_long"))})
    assert next(other).audio.flags.writeable
    with pytest.raises(RequestError, match="too long"):
        next(other)
    assert played.device.load == (0, 0)


def test_a_cancelled_stream_is_told_and_ends_when_the_process_says_so(played: SimpleNamespace) -> None:
    stream = speak(played, "r")
    stream.cancel()
    assert played.inside.asked() == {"request_id": "r"} and played.device.load == (1, 0)
    played.inside.put(ended("r"))
    assert list(stream) == []


def test_the_reason_that_a_process_tells_is_told_to_all_who_wait(played: SimpleNamespace) -> None:
    call, lost = played.device.call("encode"), []
    played.device.when_lost(lambda *told: lost.append(told))
    played.inside.channel.send_json(Number.FAILED, "the engine loop died: DeviceLostError: no more")
    played.inside.channel.close()
    reason = "^device cuda:7 is lost: the engine loop died: DeviceLostError: no more$"
    for ask in (call.result, played.device.call("encode").result, lambda: speak(played, "s")):
        with pytest.raises(DeviceLostError, match=reason):
            ask()
    played.device._threads[1].join(60)
    played.device.when_lost(lambda *told: lost.append(told))
    assert [(requests, str(error)) for requests, error in lost] == [([], reason.strip("^$"))] * 2
    assert played.device.lost and played.device._process.wait() == -9


def test_where_all_devices_are_lost_each_says_why(players: Players) -> None:
    pool = players.pool(2)
    inside = [players.next() for _ in range(2)]
    calls = [member.process.call("encode") for member in pool._devices]
    for player in inside:
        player.die()
    assert all(isinstance(call.exception(60), DeviceLostError) for call in calls)
    for ask in (pool.adapters.clear, lambda: pool.submit(SpeechRequest("r", "hello", 1))):
        with pytest.raises(DeviceLostError, match=r"cuda:0 is lost: .*; device cuda:1 is lost: "):
            ask()
    pool.close()


def test_what_no_process_says_ends_it(played: SimpleNamespace) -> None:
    call = played.device.call("encode")
    played.inside.channel.send(Kind.RESULT, *pack([{"call": 12345}]))
    with pytest.raises(DeviceLostError, match="cuda:7 is lost: KeyError: 12345"):
        call.result()
    assert played.device._process.wait() == -9


def test_a_process_that_tells_nothing_hangs_and_is_ended(
    players: Players, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, loaded = [], Message(Kind.RESULT, *pack([{"call": 0}]))

    def receive(channel: Channel, limit_seconds: float) -> Message:
        looks.append(limit_seconds)
        if len(looks) == 2:
            return Message(Number.BEAT, b"", b"")
        if len(looks) == 3:
            called.wait(60)
            return loaded
        raise TimeoutError

    called = threading.Event()
    monkeypatch.setattr(Channel, "receive", receive)
    device = DeviceProcess("cuda:7", "", "child", lambda *told: None)
    load, encode = device.call("load"), device.call("encode")
    called.set()
    assert load.result(60) == {}
    with pytest.raises(DeviceLostError, match="cuda:7 is lost: its process has told nothing for 60 s"):
        encode.result(60)
    assert looks == [300.0] * 3 + [30.0] * 2 and device._process.wait() == -9
    device.close()


def test_who_waits_for_a_message_waits_as_long_as_it_says() -> None:
    own, theirs = socket.socketpair()
    channel, other = Channel(own), Channel(theirs)
    with pytest.raises(TimeoutError, match=r"nothing for 0 s"):
        channel.receive(0.0)
    theirs.sendall(HEADER.pack(7, 2, 1) + b"a")
    with pytest.raises(TimeoutError):
        channel.receive(0.0)
    theirs.sendall(b"bc")
    assert channel.receive(60.0) == Message(7, b"ab", b"c")
    other.close()
    with pytest.raises(ChannelClosedError):
        channel.receive(60.0)
    channel.close()


def test_a_process_leaves_whose_engine_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    follower = SimpleNamespace(fail=told.append, send=None)
    monkeypatch.setattr(os, "_exit", told.append)
    serving = SpeechServing(follower)

    def submit(request: Any) -> None:
        raise EngineError("the engine loop died")

    serving._loop = SimpleNamespace(error=None, submit=submit)
    serving._loop.end_error = lambda: EngineError("the engine loop died: DeviceLostError: no more")
    with pytest.raises(EngineError):
        serving._submit(request_id="r", text="hello", seed=1)
    assert told == []
    serving._loop.error = DeviceLostError("no more")
    with pytest.raises(EngineError):
        serving._submit(request_id="r", text="hello", seed=1)
    assert told == ["the engine loop died: DeviceLostError: no more", 1]


def test_a_process_leaves_whose_device_hangs_in_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    told, seconds = [], iter([0.0, 3.0, 120.0, 120.5])
    monkeypatch.setattr(os, "_exit", told.append)
    monkeypatch.setattr(serving_module, "LOOK_SECONDS", 0.0)

    class Loop:
        step_seconds = property(lambda loop: next(seconds))

    serving = SpeechServing(SimpleNamespace(fail=told.append))
    serving._loop = Loop()
    serving._watch()
    assert told == ["it hangs: a step has taken more than 120 s", 1]


class OwnError(EngineError):
    """A kind of error that the wire does not know, of one that it knows."""


@pytest.mark.parametrize(
    "error",
    [
        RequestError("too long", "text", "too_long"),
        RequestError("refused"),
        OptionsError("graphs must be"),
        WeightError("no fit", missing=["a", "b"], mismatched=["c"]),
        DeviceLostError("gone"),
        EngineError("failed"),
        ConfigError("config.json: no"),
        AdapterError("rank"),
        TypeError("no number"),
        FileNotFoundError(2, "No such file", "x"),
        ValueError("one", "two"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_arrives_as_it_was_raised(error: Exception) -> None:
    (record,) = sent([{"error": error_record(error)}])
    found = error_of(record["error"])
    known = OSError if isinstance(error, OSError) else type(error)
    assert type(found) is known and str(found) == str(error) and vars(found) == vars(error)


def test_an_error_of_a_kind_of_its_own_arrives_as_what_it_is_a_kind_of() -> None:
    assert type(error_of(error_record(OwnError("x")))) is EngineError
    found = error_of(error_record(ZeroDivisionError("by zero")))
    assert type(found) is EngineError and str(found) == "ZeroDivisionError: by zero"


def test_an_error_leaves_behind_what_cannot_be_told() -> None:
    error = ValueError("one")
    error.code, error.places, error.layer, error.layers = 3, [[1], ["a", None]], object(), [1, object()]
    (record,) = sent([{"error": error_record(error)}])
    assert vars(error_of(record["error"])) == {"code": 3, "places": [[1], ["a", None]]}


def test_arrays_of_every_shape_arrive() -> None:
    arrays = [np.zeros((0, 2, 3), np.float32), np.arange(6, dtype=np.int16).reshape(2, 3).T, np.array(3.5)]
    records = sent([{"a": array, "b": array[..., None], "n": np.float32(0.5)} for array in arrays])
    for record, array in zip(records, arrays, strict=True):
        for name, expected in (("a", array), ("b", array[..., None])):
            assert record[name].dtype == expected.dtype and record[name].shape == expected.shape
            assert np.array_equal(record[name], expected)
        assert record["n"] == 0.5
    with pytest.raises(TypeError, match="nothing that a request can hold"):
        pack([{"a": object()}])


def sent(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    own, theirs = socket.socketpair()
    with own, theirs:
        Channel(own).send(Kind.CALL, *pack(records))
        return unpack(Channel(theirs).receive())
