#!/usr/bin/env python3
"""The gateway under load: real gateway and worker processes on this machine, figures as JSON.

    python -m benchmarks.gateway                         every scenario, about twenty minutes
    python -m benchmarks.gateway latency queue           some of them
    python -m benchmarks.gateway --quick --no-save       small sizes: does it work, does anything leak
    python -m benchmarks.gateway soak --size streams=20000
    python -m benchmarks.gateway --note "tests ran too"  said in the result of these scenarios

Results are merged into benchmarks/results/gateway_load.json, so that scenarios can be run one by one. Every
process, the load generator too, shares the machine's cores: on two of them latencies are upper bounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.gateway.gateways import gateways
from benchmarks.gateway.latency import chunk_latency, first_audio
from benchmarks.gateway.leaks import leaving, memory, soak
from benchmarks.gateway.overload import overload, tenants
from benchmarks.gateway.queue import deep_queue, large_fleet
from benchmarks.gateway.telemetry import telemetry_cost
from benchmarks.shared.results import keep, kept

RESULTS = Path(__file__).parents[1] / "results" / "gateway_load.json"
Measured = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One measurement, the sizes that make it quick, and its goals: figure -> (at most | at least, value)."""

    measure: Callable[..., Awaitable[Measured]]
    quick: dict[str, Any]
    goals: dict[str, tuple[str, float]]


SCENARIOS: dict[str, Scenario] = {
    "latency": Scenario(
        chunk_latency,
        {"streams": 9, "patches": 8, "rounds": 1, "step_ms": 20.0},
        {"added_ms_p50": ("at most", 1.5), "added_ms_p99": ("at most", 10)},
    ),
    "latency_spread": Scenario(
        partial(chunk_latency, spread=True),
        {"streams": 9, "patches": 8, "rounds": 1, "step_ms": 20.0},
        {"added_ms_p50": ("at most", 1.5), "added_ms_p99": ("at most", 10)},
    ),
    "first_audio": Scenario(
        first_audio, {"requests": 5}, {"added_ms_p50": ("at most", 3), "added_ms_p99": ("at most", 10)}
    ),
    "overload": Scenario(
        overload,
        {"seconds": 3.0, "slots": 2, "patches": 5},
        {"goodput_share": ("at least", 0.95), "rejection_ms_p99": ("at most", 20)},
    ),
    "tenants": Scenario(
        tenants,
        {"seconds": 4.0, "slots": 1, "patches": 5, "ageing_seconds": 1.0},
        {"jain_index": ("at least", 0.95), "bulk_wait_seconds_max": ("at most", 60)},
    ),
    "gateways": Scenario(
        gateways,
        {"seconds": 2.0, "slots": 2, "patches": 5, "counts": (1, 2)},
        {"jain_index": ("at least", 0.95), "used_share": ("at least", 0.9)},
    ),
    "leaving": Scenario(
        leaving,
        {"clients": 3, "step_ms": 10.0},
        {"queued_ms_p99": ("at most", 200), "streaming_ms_p99": ("at most", 200)},
    ),
    "soak": Scenario(
        soak,
        {"streams": 150, "concurrency": 12, "restart_every_seconds": 0.6},
        {"memory_slope_bytes_per_request": ("at most", 50)},
    ),
    "memory": Scenario(
        memory, {"connections": 20}, {"websocket_kib": ("at most", 40), "http_kib": ("at most", 35)}
    ),
    "queue": Scenario(
        deep_queue,
        {"depth": 2000},
        {"enqueue_ms_p99": ("at most", 0.5), "cost_ratio": ("at most", 1.5)},
    ),
    "telemetry": Scenario(
        telemetry_cost,
        {"streams": 6, "patches": 8, "seconds": 2.0, "rotations": 1, "step_ms": 20.0, "workers": 1},
        {"cost_share": ("at most", 0.03)},
    ),
    "fleet": Scenario(
        large_fleet, {"workers": 300, "streams": 4000, "waiting": 200}, {"decision_ms_p99": ("at most", 0.2)}
    ),
}


def judge(measured: Measured, goals: dict[str, tuple[str, float]]) -> dict[str, Any]:
    """Each goal beside its figure and whether it was met."""
    verdict = {}
    for name, (direction, goal) in goals.items():
        figure = measured[name]
        met = figure <= goal if direction == "at most" else figure >= goal
        verdict[name] = {"figure": figure, "goal": f"{direction} {goal:g}", "met": met}
    return verdict


async def run_scenario(name: str, quick: bool = False, **sizes: Any) -> dict[str, Any]:
    """Measure one scenario, with other `sizes` than its own where given."""
    scenario = SCENARIOS[name]
    load_before, began = os.getloadavg()[0], time.monotonic()
    measured = await scenario.measure(**((scenario.quick if quick else {}) | sizes))
    return {
        "goals": judge(measured, scenario.goals),
        "measured": measured,
        "seconds": round(time.monotonic() - began, 1),
        "load_average_before": round(load_before, 2),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def save(results: dict[str, Any]) -> None:
    """Merge the scenarios into the results file."""
    machine = {"cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    scenarios = kept(RESULTS).get("scenarios", {}) | results
    document = {"script": "benchmarks/gateway/load.py", "machine": machine, "scenarios": scenarios}
    keep(RESULTS, document)


def main() -> None:
    """Run the scenarios that were named, print and keep what they gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--quick", action="store_true", help="small sizes; figures mean nothing")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument(
        "--size", action="append", default=[], metavar="NAME=VALUE", help="such as streams=20000"
    )
    parser.add_argument("--note", help="what disturbed the run")
    options = parser.parse_args()
    if unknown := set(options.scenarios) - set(SCENARIOS):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}")
    sizes = {name: json.loads(value) for name, value in (size.split("=", 1) for size in options.size)}
    results = {}
    for name in options.scenarios or SCENARIOS:
        results[name] = asyncio.run(run_scenario(name, options.quick, **sizes))
        if options.note:
            results[name]["note"] = options.note
        print(json.dumps({name: results[name]}), flush=True)
        if not (options.quick or options.no_save):
            save({name: results[name]})


if __name__ == "__main__":
    main()
