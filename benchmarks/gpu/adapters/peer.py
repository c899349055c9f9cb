"""What adapters cost nano-vllm-voxcpm 2.0.5, in a process of its own: steps of the same streams.

    PYTHONPATH=WHEEL python -m benchmarks.gpu.adapters.peer CHECKPOINT ADAPTERS \\
        --streams 1,64 --slots 32 --different 1,8,32

ADAPTERS is a folder of adapters in the published package's layout, which are registered in turn. With no slot
the peer takes no adapters. One JSON line per number of streams goes to standard output, after "RESULT ".
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks.gpu.adapters.kinds import kinds_of, more_percent
from benchmarks.gpu.engines.peer import MARK, Peer, importable, said_by_child
from benchmarks.gpu.work import Clip, clips, run, summary
from benchmarks.shared.adapter_work import STEPS, WARM_STEPS

ROUNDS = 3


class Adapted:
    """The peer, of whose streams some name an adapter."""

    def __init__(self, peer: Peer, adapters: list[str | None], work: list[Clip]) -> None:
        self._peer, self.patch_seconds = peer, peer.patch_seconds
        self._adapters = {clip.name: name for clip, name in zip(work, adapters, strict=True)}

    def add(self, clip: Clip) -> None:
        self._peer.add(clip, self._adapters[clip.name])

    def step(self) -> list[str]:
        return self._peer.step()

    def busy(self) -> bool:
        return self._peer.busy()


def step_costs(peer: Peer, streams: int, different: tuple[int, ...]) -> dict[str, Any]:
    """Median milliseconds of a step of all streams by who has adapters."""
    kinds = kinds_of(streams, different)
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(ROUNDS + 1):
        for kind, adapters in kinds.items():
            work = clips("short", streams, WARM_STEPS + STEPS)
            result = summary(run(Adapted(peer, adapters, work), work), peer.patch_seconds)
            if turn:  # the first compiles what is not yet
                found[kind].append(result["step_ms_p50"])
    medians = {kind: statistics.median(times) for kind, times in found.items()}
    step_ms = {kind: round(median, 3) for kind, median in medians.items()}
    return {"streams": streams, "step_ms": step_ms, "more_percent": more_percent(medians)}


def measure_in_children(
    checkpoint: Path,
    adapters: Path,
    streams: list[int],
    slots: int,
    different: tuple[int, ...],
    timeout: float,
) -> dict[str, Any]:
    """Steps of the peer without room for adapters, and with so many slots; or why there are none."""
    found = {}
    for name, count in (("without slots", 0), (f"{slots} slots", slots)):
        arguments = [str(checkpoint), str(adapters), "--slots", str(count)]
        for option, numbers in (("--streams", streams), ("--different", different)):
            arguments += [option, ",".join(map(str, numbers))]
        found[name] = said_by_child(
            __name__, arguments, timeout, lambda row: print("peer", json.dumps(row), flush=True)
        )
    return found


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("adapters", type=Path)
    parser.add_argument("--streams", type=_numbers, required=True)
    parser.add_argument("--slots", type=int, required=True)
    parser.add_argument("--different", type=_numbers, required=True)
    parser.add_argument("--memory-share", type=float, default=0.8)
    chosen = parser.parse_args()
    directories = sorted(chosen.adapters.iterdir())
    with importable():
        peer = Peer(chosen.checkpoint, max(chosen.streams), chosen.memory_share, chosen.slots)
        for number in range(chosen.slots):
            peer.register(str(number), directories[number % len(directories)])
        for streams in chosen.streams:
            different = tuple(count for count in chosen.different if count <= min(streams, chosen.slots))
            print(MARK + json.dumps(step_costs(peer, streams, different)), flush=True)


if __name__ == "__main__":
    main()
