"""What listeners notice of faults: real gateways and workers, killed, stopped, cut off and restarted.

    python -m benchmarks.chaos                               everything, about five minutes
    python -m benchmarks.chaos --scenario kill --requests 200 --seed 7
    python -m benchmarks.chaos --scenario ray                nodes of a cluster of Ray (extra `ray`)
    python -m benchmarks.chaos --scenario lost --device cuda:0 --device cuda:1

Unless said otherwise: 3 synthetic workers of 20 slots, clips of 25 patches of 40 ms each, 40 clients. Prints
JSON. "lost" is a request without its end, "wrong" one with a byte that the model does not owe; pauses are the
seconds from a fault to the first audio from another worker, at the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.chaos.bundled import bundled_voice
from benchmarks.chaos.fleet import RESTART_SECONDS, ChaosFleet, Fault
from benchmarks.chaos.listeners import load, pauses
from benchmarks.chaos.loads import SLOTS, Size, distribution, under_load, verdict


def fleet_of(size: Size, seed: int, **options: Any) -> ChaosFleet:
    return ChaosFleet(slots=SLOTS, step_ms=size.step_ms, seed=seed, **options)


async def kill(size: Size, seed: int) -> dict[str, Any]:
    """A worker is killed every five seconds and started again by its supervisor."""
    faults: list[Fault] = []
    async with fleet_of(size, seed) as fleet:
        began = time.perf_counter()

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds * (len(faults) + 1) - (time.perf_counter() - began))
            index = fleet.draw.randrange(fleet.workers)
            faults.append(await fleet.kill_worker(index))
            await asyncio.sleep(RESTART_SECONDS)
            fleet.restart_worker(index)
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"kills": len(faults), "pauses": distribution(pauses(heard, faults))}


async def stop(size: Size, seed: int) -> dict[str, Any]:
    """A worker is stopped for two seconds, then wakes up with frames that nobody wants any more."""
    faults: list[Fault] = []
    async with fleet_of(size, seed) as fleet:

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds - size.pause_seconds)
            index = fleet.draw.randrange(fleet.workers)
            faults.append(await fleet.pause_worker(index))
            await asyncio.sleep(size.pause_seconds)
            fleet.continue_worker(index)
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"stops": len(faults), "pauses": distribution(pauses(heard, faults))}


async def refuse(size: Size, seed: int) -> dict[str, Any]:
    """One of three workers takes no connection any more, and a burst of requests comes at the same moment."""
    async with fleet_of(size, seed) as fleet:
        await fleet.proxies[0].refuse()
        fleet.proxies[0].cut()
        heard = await load(fleet.urls, size.requests, size.requests, size.patches, seed)
    return verdict(heard)


async def network(size: Size, seed: int) -> dict[str, Any]:
    """Between gateway and workers, data is delayed and changed, and connections stall or are reset."""
    done: Counter[str] = Counter()
    async with fleet_of(size, seed) as fleet:

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds)
            proxy = fleet.draw.choice(fleet.proxies)
            fault = fleet.draw.choice(("cut", "corrupt", "delay", "stall"))
            done[fault] += 1
            if fault == "cut":
                proxy.cut()
            elif fault == "corrupt":
                proxy.corrupt_next()
            elif fault == "delay":
                proxy.delay_seconds = 0.02
                await asyncio.sleep(size.fault_every_seconds)
                proxy.delay_seconds = 0.0
            else:
                proxy.stall()
                await asyncio.sleep(1.0)
                proxy.flow()

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"faults": dict(done)}


async def rolling(size: Size, seed: int) -> dict[str, Any]:
    """All workers are restarted, one after the other, again and again."""
    restarts = 0
    async with fleet_of(size, seed) as fleet:

        async def trouble() -> None:
            nonlocal restarts
            for index in range(fleet.workers):
                await fleet.end_worker(index)
                fleet.restart_worker(index)
                await fleet.until_serving()
                restarts += 1

        heard = await under_load(fleet, size, seed, trouble)
    return verdict(heard) | {"restarts": restarts}


async def gateways(size: Size, seed: int) -> dict[str, Any]:
    """One of two gateways is killed, now this, now that one; clients hold resume tokens."""
    kills = 0
    settings = {"resume_secret": "known to both gateways"}
    async with fleet_of(size, seed, gateways=2, gateway_settings=settings) as fleet:

        async def trouble() -> None:
            nonlocal kills
            await asyncio.sleep(size.fault_every_seconds)
            fleet.kill_gateway(kills % 2)
            await asyncio.sleep(RESTART_SECONDS)
            fleet.restart_gateway(kills % 2)
            kills += 1
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble, resume=True)
    result = verdict(heard) | {"kills": kills, "resumed": sum(one.reconnections > 0 for one in heard)}
    result["complete_and_exact"] = 1.0 - (result["lost"] + result["wrong"]) / result["requests"]
    return result


async def bundled(size: Size, seed: int) -> dict[str, Any]:
    """A worker of the bundled voice is killed in mid-sentence."""
    return await bundled_voice(seed, size.requests, size.devices)


async def lost(size: Size, seed: int) -> dict[str, Any]:
    """A worker of the bundled voice loses its device in mid-sentence."""
    return await bundled_voice(seed, size.requests, size.devices, losing=True)


async def ray(size: Size, seed: int) -> dict[str, Any]:
    """Nodes of a cluster of Ray come and lose power, under load."""
    from benchmarks.chaos.ray_fleet import dying_nodes

    return await dying_nodes(size, seed)


async def ray_rolling(size: Size, seed: int) -> dict[str, Any]:
    """In such a cluster all workers are replaced by those of another version, again and again."""
    from benchmarks.chaos.ray_fleet import new_versions

    return await new_versions(size, seed)


async def ray_scale(size: Size, seed: int) -> dict[str, Any]:
    """In such a cluster there is no worker until somebody asks, as many as are needed, and then none."""
    from benchmarks.chaos.ray_fleet import from_none_to_none

    return await from_none_to_none(size, seed)


async def ray_machines(size: Size, seed: int) -> dict[str, Any]:
    """The same where there is no node either, and Ray's own autoscaler adds and takes them."""
    from benchmarks.chaos.ray_fleet import machines_by_need

    return await machines_by_need(size, seed)


Scenario = Callable[[Size, int], Awaitable[dict[str, Any]]]
SCENARIOS: dict[str, tuple[Scenario, Size]] = {
    "kill": (kill, Size(2000)),
    "stop": (stop, Size(600, fault_every_seconds=4.0)),
    "refuse": (refuse, Size(200)),
    "network": (network, Size(600, fault_every_seconds=0.7)),
    "rolling": (rolling, Size(1000)),
    "gateways": (gateways, Size(1000, fault_every_seconds=6.0)),
    "bundled": (bundled, Size(3)),
    "lost": (lost, Size(3)),
    "ray": (ray, Size(2000, clients=20, fault_every_seconds=12.0)),
    "ray_rolling": (ray_rolling, Size(1000, clients=20)),
    "ray_scale": (ray_scale, Size(200, clients=8)),
    "ray_machines": (ray_machines, Size(200, clients=8)),
}
NEED_RAY = ("ray", "ray_rolling", "ray_scale", "ray_machines")


async def run(
    names: Sequence[str], seed: int, requests: int | None = None, devices: Sequence[str] = ("cpu",)
) -> dict[str, Any]:
    """The scenarios one after the other."""
    results: dict[str, Any] = {
        "machine": {
            "cpus": os.cpu_count(),
            "platform": platform.platform(),
            "load_before": os.getloadavg()[0],
        },
        "seed": seed,
    }
    for name in names:
        scenario, size = SCENARIOS[name]
        size = replace(size, requests=requests or size.requests, devices=tuple(devices))
        results[name] = await scenario(size, seed)
        print(json.dumps({name: results[name]}), file=sys.stderr)
    return results


def main() -> int:
    """0 when nothing was lost or wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), help="may be given again")
    parser.add_argument("--requests", type=int, help="instead of the scenario's own number")
    parser.add_argument("--device", action="append", help="of workers of the bundled voice, in turn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="write the JSON here too")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the fleet is ended too
    names = options.scenario or [name for name in SCENARIOS if find_spec("ray") or name not in NEED_RAY]
    results = asyncio.run(run(names, options.seed, options.requests, options.device or ["cpu"]))
    text = json.dumps(results, indent=2)
    print(text)
    if options.output is not None:
        options.output.write_text(text + "\n", encoding="utf-8")
    scenarios = [result for result in results.values() if isinstance(result, dict)]
    return 1 if any(result.get("lost") or result.get("wrong") for result in scenarios) else 0


if __name__ == "__main__":
    sys.exit(main())
