"""See the package."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from benchmarks.fleet_simulation.day import KIND, live, rules
from benchmarks.fleet_simulation.measures import figures
from benchmarks.fleet_simulation.plot import svg
from benchmarks.fleet_simulation.traffic import STREAMS, requests
from benchmarks.fleet_simulation.virtual_time import run

RESULTS = Path(__file__).parents[1] / "results" / "fleet_simulation.json"
WORKERS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="A day of a fleet in virtual time.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the streams and workers")
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    asked = requests(round(STREAMS * options.scale), options.seed)
    most = max(round(WORKERS * options.scale), 1)
    began = time.perf_counter()
    day = run(live(asked, most, options.seed))
    goal = rules(most).objective.first_audio_seconds
    document = {
        "seed": options.seed,
        "budget_workers": most,
        "slots": KIND.slots,
        "loading_seconds": KIND.loading_seconds,
        "objective_seconds": goal,
        **figures(day, asked, KIND.slots, KIND.loading_seconds, goal),
    }
    print(json.dumps(document, indent=2))
    print(f"{time.perf_counter() - began:.0f} s")
    if not options.no_save:
        RESULTS.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        RESULTS.with_suffix(".svg").write_text(svg(day, asked, KIND.slots), encoding="utf-8")


if __name__ == "__main__":
    main()
