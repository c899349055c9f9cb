"""Runs every function `case_...` of a script, and prints what came of each as JSON.

The scripts run in the environment of the clients (`tests/clients/install.py`), which has none of VoxFleet.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
import traceback
from collections.abc import Callable
from types import ModuleType

_CASE_SECONDS = 60.0


def run_all(script: ModuleType) -> None:
    """The last line that is printed maps the names of cases to None, or to what went wrong."""
    cases = [(name, case) for name, case in vars(script).items() if name.startswith("case_")]
    results = {name.removeprefix("case_"): _outcome(case) for name, case in cases}
    print(json.dumps(results))


def _outcome(case: Callable[[], object]) -> str | None:
    try:
        result = case()
        if inspect.isawaitable(result):
            asyncio.run(_in_time(result))
    except BaseException:
        return traceback.format_exc(limit=-8)
    return None


async def _in_time(work: object) -> None:
    async with asyncio.timeout(_CASE_SECONDS):
        await work


def main(name: str) -> None:
    """To be called at the end of a script."""
    if name == "__main__":
        run_all(sys.modules[name])
