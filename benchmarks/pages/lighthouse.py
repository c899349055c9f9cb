"""What Lighthouse says of the pages: `python -m benchmarks.pages.lighthouse --pages admin --sizes phone`.

Medians of the scores of all four categories and of what the score of performance is made of: milliseconds,
and layout shift. A run takes some 20 s. Lighthouse reckons a slow phone on a slow line from what
it sees here, so scores of performance depend on the machine and its load: `--beside DIR` takes turns with
another checkout within every run, and `--reports DIR` keeps each report, which says where time goes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from benchmarks.pages.service import addresses, run
from tests.page_tools import debugged_chromium, lighthouse

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
_TRIES = 3
FORM_FACTORS = {"desktop": "desktop", "phone": "mobile"}  # as Lighthouse names the sizes


def judge(
    urls: dict[str, str], pages: list[str], sizes: list[str], runs: int, reports: Path | None
) -> dict[str, Any]:
    """By checkout, page and size: medians of scores and metrics, and all scores of performance."""
    places = {checkout: addresses(url) for checkout, url in urls.items()}
    said: dict[str, list[dict[str, float]]] = {}
    with debugged_chromium() as port:
        for number in range(runs):
            for name in pages:
                for size in sizes:
                    for checkout, address in places.items():
                        key = f"{checkout} {name} {size}"
                        report = reports / f"{key.replace(' ', '-')}-{number}.json" if reports else None
                        form_factor = FORM_FACTORS[size]
                        found = _scored(port, address[name], form_factor, report)
                        said.setdefault(key, []).append(found["scores"] | found["metrics"])
                        print(key, found["scores"], file=sys.stderr, flush=True)
    return {key: _summary(runs_of) for key, runs_of in said.items()}


def _scored(port: int, url: str, form_factor: str, report: Path | None) -> dict[str, Any]:
    """One run. Now and then the browser's trace lacks what a score is made of; then it is done again.

    Raises:
        RuntimeError: no run has all scores.
    """
    for _ in range(_TRIES):
        [found] = lighthouse(port, [url], form_factor, *CATEGORIES, report=report)
        if None not in found["scores"].values():
            return found
        print(url, found["scores"], "and once more", file=sys.stderr, flush=True)
    raise RuntimeError(f"Lighthouse gives {url} no score: {found['scores']}")


def _summary(runs: list[dict[str, float]]) -> dict[str, Any]:
    medians = {name: round(statistics.median(each[name] for each in runs), 3) for name in runs[0]}
    return {**medians, "performance of each run": [each["performance"] for each in runs]}


def measured(urls: dict[str, str], asked: argparse.Namespace) -> dict[str, Any]:
    """What is written of one call of this script."""
    return {
        "runs": asked.runs,
        "lighthouse": judge(urls, asked.pages, asked.sizes, asked.runs, asked.reports),
    }


def main() -> int:
    return run(__doc__, ("reports", "folder for Lighthouse's own reports"), measured)


if __name__ == "__main__":
    sys.exit(main())
