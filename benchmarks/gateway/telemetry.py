"""What traces, metrics and logs by OpenTelemetry cost a gateway: CPU seconds per second of audio.

Three gateways serve as many streams each, all the time, clip after clip, at workers of their own. One has no
telemetry, one has it as it comes, one keeps every trace, and in each turn they change roles
(`telemetry_roles.py`). Within a turn they share the machine and its mood; over a rotation of three turns each
has had every role, so what makes one gateway differ from another, by up to a tenth, falls out too. The
receiver takes everything and keeps nothing.

A turn counts once the clips that began before it have ended, and what they told has been sent; it counts
until what was told in it has been sent too.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
import statistics
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple

from websockets.asyncio.client import ClientConnection

from benchmarks.gateway.telemetry_roles import ROLES, role_signal
from benchmarks.shared.fleet import Fleet
from benchmarks.shared.speech_clients import PATCH_SECONDS, gateway_socket, text_of

WARM_UP_SECONDS = 4.0
SENT_SECONDS = 1.0
"""In which a gateway has sent all that it has told."""
PROGRAM = "benchmarks.gateway.telemetry_roles"


class Receiver:
    """A server that answers every request with 200, at once."""

    def __init__(self) -> None:
        self.bytes = 0
        self._server: asyncio.Server

    async def __aenter__(self) -> Receiver:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                self.bytes += len(await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()


async def telemetry_cost(
    *,
    streams: int = 128,
    patches: int = 30,
    seconds: float = 28.0,
    rotations: int = 5,
    step_ms: float = 160.0,
    workers: int = 3,
) -> dict[str, Any]:
    """How much more CPU time a gateway takes with telemetry than without, by seconds of audio.

    `streams` and `workers`: of each gateway. A turn takes `seconds`, and metrics go out once in each. A share
    is the mean over `rotations`; beside it stands its standard error, 0 for one rotation.
    """
    clip_seconds = patches * step_ms / 1000
    async with Receiver() as receiver, AsyncExitStack() as stack:
        told = {"otlp_endpoint": receiver.url, "otlp_metrics_seconds": max(1, round(seconds))}
        places = []
        for _ in ROLES:
            fleet = Fleet(
                workers=workers, slots=streams // workers + 2, step_ms=step_ms, worker_settings=told,
                program=PROGRAM, log_level="info", **told,
            )  # fmt: skip
            places.append(_Place(await stack.enter_async_context(fleet), streams, text_of(patches)))
        async with asyncio.TaskGroup() as group:
            listening = [group.create_task(place.listen()) for place in places]
            await asyncio.sleep(WARM_UP_SECONDS + clip_seconds)
            costs = await _take_turns(places, clip_seconds, seconds, rotations)
            for task in listening:
                task.cancel()
    default, everything = (_shares(costs[role], costs["off"]) for role in ROLES[1:])
    return {
        "streams": streams,
        "cost_share": round(statistics.fmean(default), 4),
        "cost_share_error": _error(default),
        "cost_share_of_everything": round(statistics.fmean(everything), 4),
        "cost_share_of_everything_error": _error(everything),
        "cpu_ms_per_audio_second": {
            role: [round(1000 * cost, 3) for cost in each] for role, each in costs.items()
        },
        "failed_streams": sum(place.failed for place in places),
        "received_bytes": receiver.bytes,
    }


class _Place:
    """A gateway and its listeners."""

    def __init__(self, fleet: Fleet, streams: int, text: str) -> None:
        self._gateway = fleet.gateway
        self._streams, self._text = streams, text
        self._heard_seconds = 0.0
        self.failed = 0
        """Streams that the gateway refused or lost: on a machine that is too busy to measure anything."""

    async def listen(self) -> None:
        """All streams, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(self._streams):
                group.create_task(self._listen_on(number))

    async def _listen_on(self, number: int) -> None:
        """One clip after the other; those of different streams begin at all times, not at once."""
        await asyncio.sleep(number / self._streams * WARM_UP_SECONDS)
        for seed in itertools.count(number, self._streams):
            async with gateway_socket(self._gateway.port) as socket:
                await socket.send(json.dumps({"text": self._text, "seed": seed}))
                while (kind := await self._next_message(socket)) not in ("done", "error"):
                    pass
            if kind == "error":
                self.failed += 1
                await asyncio.sleep(1.0)

    async def _next_message(self, socket: ClientConnection) -> str:
        """The type of the next that is no audio."""
        while isinstance(message := await socket.recv(), bytes):
            self._heard_seconds += PATCH_SECONDS
        return json.loads(message)["type"]

    def play(self, role: str) -> None:
        """Its telemetry from now on."""
        os.kill(self._gateway.pid, role_signal(role))

    def spent(self) -> _Spent:
        """So far. Threads that have ended count no more."""
        seconds = {
            int(task.name): int((task / "schedstat").read_text().split()[0]) / 1e9
            for task in Path(f"/proc/{self._gateway.pid}/task").iterdir()
        }
        loop = seconds.pop(self._gateway.pid)
        return _Spent(loop, sum(seconds.values()), self._heard_seconds)


class _Spent(NamedTuple):
    """CPU seconds, and seconds of audio that they went into."""

    loop: float
    others: float
    audio: float


async def _take_turns(
    places: Sequence[_Place], clip_seconds: float, seconds: float, rotations: int
) -> dict[str, list[float]]:
    """CPU seconds per second of audio, by role, turn for turn."""
    costs: dict[str, list[float]] = {role: [] for role in ROLES}
    for turn in range(rotations * len(ROLES)):
        roles = [ROLES[(number + turn) % len(ROLES)] for number in range(len(places))]
        for role, cost in zip(roles, await _turn(places, roles, clip_seconds, seconds), strict=True):
            costs[role].append(cost)
    return costs


async def _turn(
    places: Sequence[_Place], roles: Sequence[str], clip_seconds: float, seconds: float
) -> list[float]:
    """CPU seconds per second of audio, place for place."""

    def play() -> list[_Spent]:
        """From now on; what was told before is sent. Returns what was spent so far."""
        for place, role in zip(places, roles, strict=True):
            place.play(role)
        return [place.spent() for place in places]

    play()
    await asyncio.sleep(clip_seconds)
    noting = play()
    await asyncio.sleep(SENT_SECONDS)
    began = [place.spent() for place in places]
    await asyncio.sleep(max(SENT_SECONDS, seconds - clip_seconds - 2 * SENT_SECONDS))
    ended = play()
    await asyncio.sleep(SENT_SECONDS)
    sent = [place.spent() for place in places]
    return [
        (end.loop - begin.loop) / max(PATCH_SECONDS, end.audio - begin.audio)
        + (last.others - begin.others) / max(PATCH_SECONDS, end.audio - note.audio)
        for note, begin, end, last in zip(noting, began, ended, sent, strict=True)
    ]


def _shares(costs: Sequence[float], off: Sequence[float]) -> list[float]:
    """What a role costs more than none, rotation for rotation; in each, every gateway has had both."""
    logarithms = [math.log(cost / none) for cost, none in zip(costs, off, strict=True)]
    turns = len(ROLES)
    return [
        math.expm1(statistics.fmean(logarithms[first : first + turns]))
        for first in range(0, len(logarithms), turns)
    ]


def _error(shares: Sequence[float]) -> float:
    """Standard error of their mean."""
    return round(statistics.stdev(shares) / math.sqrt(len(shares)), 4) if len(shares) > 1 else 0.0
