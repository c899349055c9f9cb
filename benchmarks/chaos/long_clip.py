"""A chapter of 50,000 characters as one stream, whose worker and then whose gateway are killed.

    python -m benchmarks.chaos.long_clip

Synthetic workers, which make the same audio for the same request. What the listener gets is compared with the
stream that was left alone, byte for byte.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.book import book
from benchmarks.chaos.fleet import ChaosFleet
from voxfleet.client import AsyncClient

RESULT = Path(__file__).parents[1] / "results" / "long_clip.json"
SECRET = "known to this benchmark"
_SEED = 7


@dataclass
class Heard:
    """A stream as its listener got it."""

    digest: str
    audio_bytes: int
    reconnections: int
    ending: dict[str, Any]


async def hear(
    url: str, text: str, faults: list[tuple[int, Callable[[], Awaitable[object]]]] | None = None
) -> Heard:
    """One stream; each fault comes after so many bytes."""
    sums, received, reconnections, ending = hashlib.sha256(), 0, 0, {}
    waiting = list(faults or [])
    async with AsyncClient(url, api_key=None) as client:
        async for item in client.stream(text, seed=_SEED):
            if isinstance(item, dict):
                ending = item
                reconnections += item["type"] == "reconnecting"
                continue
            sums.update(item)
            received += len(item)
            if waiting and received >= waiting[0][0]:
                await waiting.pop(0)[1]()
    return Heard(sums.hexdigest(), received, reconnections, ending)


async def measure(characters: int) -> dict[str, Any]:
    """The stream left alone, and with a worker killed after a third and the gateway after two thirds."""
    text = book(characters, 1)
    settings = {"resume_secret": SECRET}
    async with ChaosFleet(workers=2, slots=2, step_ms=1.0, gateway_settings=settings) as fleet:
        url = fleet.urls[0]
        whole = await hear(url, text)

        async def lose_worker() -> None:
            busy = [index for index in range(fleet.workers) if (await fleet.runs(index))]
            await fleet.kill_worker(busy[0])

        async def lose_gateway() -> None:
            fleet.kill_gateway(0)
            fleet.restart_gateway(0)

        third = whole.audio_bytes // 3
        broken = await hear(url, text, [(third, lose_worker), (2 * third, lose_gateway)])
    return {
        "characters": len(text),
        "audio_seconds": whole.ending["audio_seconds"],
        "finish_reason": broken.ending["finish_reason"],
        "reconnections": broken.reconnections,
        "same_bytes": broken.digest == whole.digest,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--characters", type=int, default=50_000)
    found = asyncio.run(measure(parser.parse_args().characters))
    print(json.dumps(found))
    RESULT.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
