"""Several gateways before one worker, which is offered twice what it can serve: who gets how much of it.

Each gateway is offered the same load, open-loop with Poisson arrivals. The capacity that is used is compared
with what one gateway gets out of the same worker under the same load.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from benchmarks.gateway.overload import arrive
from benchmarks.shared.fleet import Fleet, Process, free_port, until_ready
from benchmarks.shared.http_client import exchange, post_tts
from benchmarks.shared.speech_clients import text_of

STEP_MS = 40.0


async def gateways(
    *,
    seconds: float = 40.0,
    counts: tuple[int, ...] = (1, 2, 3),
    factor: float = 2.0,
    slots: int = 4,
    patches: int = 25,
    seed: int = 1,
) -> dict[str, Any]:
    """Jain's index over the clips that each gateway got, and the capacity that all of them used together."""
    served: dict[int, list[int]] = {}
    waits: dict[int, float] = {}
    for count in counts:
        async with Fleet(workers=1, slots=slots, step_ms=STEP_MS, max_queue=4 * slots) as fleet:
            served[count], waits[count] = await _share(fleet, count, seconds, factor, patches, seed)
    alone = sum(served[1])
    return {
        "jain_index": min(jain(clips) for count, clips in served.items() if count > 1),
        "used_share": round(min(sum(clips) for count, clips in served.items() if count > 1) / alone, 4),
        "used_share_of_slots": round(alone * patches * STEP_MS / 1000 / (slots * seconds), 4),
        "clips": {str(count): clips for count, clips in served.items()},
        "longest_wait_seconds": {str(count): round(wait, 2) for count, wait in waits.items()},
    }


def jain(amounts: list[int]) -> float:
    """1 when all are equal, 1/n when one has everything. Jain, Chiu and Hawe 1984, equation 2."""
    return round(sum(amounts) ** 2 / (len(amounts) * max(1, sum(amount**2 for amount in amounts))), 4)


async def _share(
    fleet: Fleet, count: int, seconds: float, factor: float, patches: int, seed: int
) -> tuple[list[int], float]:
    """Clips that were complete within the time, by gateway, and the longest wait of any of them."""
    urls = ",".join(worker.url for worker in fleet.workers)
    more = [
        Process("gateway", "--workers", urls, port=free_port(), **fleet.settings) for _ in range(count - 1)
    ]
    try:
        for process in more:
            await until_ready(process, fleet.workers)
        ports = [process.port for process in (fleet.gateway, *more)]
        rate = factor * fleet.slots / (patches * STEP_MS / 1000) / count
        loop = asyncio.get_running_loop()
        clips, waits = dict.fromkeys(ports, 0), [0.0]
        warm_up = min(3.0, seconds / 4)
        began = loop.time()

        async def ask(port: int) -> None:
            raw = post_tts({"text": text_of(patches), "format": "pcm"})
            answer = await exchange(port, raw)
            if answer.status == 200 and warm_up <= loop.time() - began <= warm_up + seconds:
                clips[port] += 1
                waits.append(float(answer.headers["x-queue-seconds"]))

        await asyncio.gather(
            *(
                arrive(rate, warm_up + seconds, random.Random(f"{seed} {place}"), lambda port=port: ask(port))
                for place, port in enumerate(ports)
            )
        )
        return [clips[port] for port in ports], max(waits)
    finally:
        for process in more:
            process.kill()
