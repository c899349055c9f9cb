"""What the gateway adds: to every chunk at many streams, and to the first audio when idle.

All workers begin their steps at the same moment, so that the gateway gets the chunks of every stream in one
burst: the worst case. Devices keep no common step; with `spread`, theirs begin a third of a step apart. The
lateness of a chunk is counted from the moment at which a probe, connected to the same worker directly and
served first in each of its steps, got its chunk of that step. Streams through the gateway and direct ones are
measured in turns, as many of each; the difference of their percentiles is what the gateway adds. The CPU time
that a chunk costs the gateway is taken while all streams run, with its probes of the workers' health.
"""

from __future__ import annotations

import asyncio
import bisect
import time
from typing import Any

from benchmarks.shared.fleet import Fleet, Process
from benchmarks.shared.speech_clients import listen, listen_directly, percentile, text_of


async def chunk_latency(
    *,
    streams: int = 128,
    patches: int = 50,
    rounds: int = 3,
    step_ms: float = 160.0,
    spread: bool = False,
) -> dict[str, Any]:
    """Milliseconds per chunk, gateway against direct, interleaved; CPU time of the gateway per chunk."""
    workers = 3
    late: dict[str, list[float]] = {"direct": [], "gateway": []}
    added: list[dict[str, float]] = []
    cores = []
    spread_seconds = step_ms / 1000 / workers if spread else 0.0
    async with Fleet(workers=workers, slots=streams // workers + 2, step_ms=step_ms) as fleet:
        for round_number in range(rounds):
            rates = {}
            for kind in late:
                middle = asyncio.create_task(_cores_in_the_middle(fleet.gateway, patches * step_ms / 1000))
                rates[kind] = await _one_round(
                    fleet, kind, streams, patches, round_number, step_ms, spread_seconds
                )
                late[kind] += rates[kind]
                if kind == "gateway":
                    cores.append(await middle)
            added.append(
                {
                    f"p{p}": 1000 * (percentile(rates["gateway"], p) - percentile(rates["direct"], p))
                    for p in (50, 99)
                }
            )
    result = {
        f"{kind}_late_ms_p{p}": round(1000 * percentile(values, p), 2)
        for kind, values in late.items()
        for p in (50, 99)
    }
    for p in (50, 99):
        result[f"added_ms_p{p}"] = round(sorted(entry[f"p{p}"] for entry in added)[len(added) // 2], 2)
        result[f"added_ms_p{p}_rounds"] = [round(entry[f"p{p}"], 2) for entry in added]
    result["gateway_cpu_us_per_chunk"] = round(1000 * step_ms * sum(cores) / rounds / streams, 1)
    return result | {"streams": streams, "chunks": len(late["gateway"])}


async def _cores_in_the_middle(process: Process, seconds: float) -> float:
    """CPU seconds per second, while all streams of a round of so many seconds run."""
    await asyncio.sleep(0.4 * seconds)
    cpu_before, began = process.cpu_seconds(), time.perf_counter()
    await asyncio.sleep(0.4 * seconds)
    return (process.cpu_seconds() - cpu_before) / (time.perf_counter() - began)


async def _one_round(
    fleet: Fleet,
    kind: str,
    streams: int,
    patches: int,
    round_number: int,
    step_ms: float,
    spread_seconds: float,
) -> list[float]:
    """Lateness in seconds of every chunk of `streams` listeners, not counting the first and last steps."""
    ports = [worker.port for worker in fleet.workers]
    probes = []
    for port in ports:
        probe = listen_directly(port, f"probe-{round_number}", text_of(patches + 12), seed=1)
        probes.append(asyncio.create_task(probe))
        await asyncio.sleep(spread_seconds)
    await asyncio.sleep(3 * step_ms / 1000)
    text = text_of(patches)
    if kind == "direct":
        listeners = [
            listen_directly(ports[n % len(ports)], f"direct-{round_number}-{n}", text, seed=n)
            for n in range(streams)
        ]
    else:
        listeners = [listen(fleet.gateway.port, {"text": text, "seed": n}) for n in range(streams)]
    heard = await asyncio.gather(*listeners)
    steps = [sorted(at for _, at in await probe) for probe in probes]
    late: list[float] = []
    for n, clip in enumerate(heard):
        if kind == "direct":
            late += _lateness([at for _, at in clip], steps[n % len(ports)])
        elif clip.last["type"] != "done":
            raise RuntimeError(f"a stream failed: {clip.last}")
        else:
            late += _lateness(clip.arrivals, steps[int(clip.worker_id.removeprefix("w"))])
    return late


def _lateness(arrivals: list[float], step_times: list[float]) -> list[float]:
    """Time since the latest step before each arrival, for arrivals within the steps that were seen."""
    late = []
    for at in arrivals[2:]:
        place = bisect.bisect_right(step_times, at)
        if 0 < place < len(step_times):
            late.append(at - step_times[place - 1])
    return late


async def first_audio(*, requests: int = 300, step_ms: float = 5.0) -> dict[str, Any]:
    """Milliseconds from a new connection to the first chunk when idle, direct and gateway in turns."""
    text = text_of(3)
    seconds: dict[str, list[float]] = {"direct": [], "gateway": []}
    async with Fleet(workers=1, slots=4, step_ms=step_ms) as fleet:
        for n in range(requests):
            began = time.perf_counter()
            arrivals = await listen_directly(fleet.workers[0].port, f"first-{n}", text, seed=n)
            seconds["direct"].append(arrivals[0][1] - began)
            began = time.perf_counter()
            heard = await listen(fleet.gateway.port, {"text": text, "seed": n})
            seconds["gateway"].append(heard.arrivals[0] - began)
    result = {
        f"{kind}_ms_p{p}": round(1000 * percentile(values, p), 2)
        for kind, values in seconds.items()
        for p in (50, 99)
    }
    for p in (50, 99):
        result[f"added_ms_p{p}"] = round(result[f"gateway_ms_p{p}"] - result[f"direct_ms_p{p}"], 2)
    return result | {"requests": requests}
