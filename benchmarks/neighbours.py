"""How the bundled voice gets on beside other programs: real-time factor and underruns of a listener.

    python -m benchmarks.neighbours [--requests 6] [--only idle ...] [--checkout DIR]
                                    [--json benchmarks/results/neighbours.json]

Each case starts `voxfleet serve` as a user does. Neighbours are busy loops, one a CPU; a quota is that of a
control group, which takes the right to make one; the browser is Chromium playing the studio. Before each case
the machine must be quiet, and what programs that are no part of the case took meanwhile stands beside the
figures (`foreign_cpus`). `--checkout` measures another version of the product by the same lines. A drawing
is written beside the JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.shared.machine_load import busy_seconds, cpu_seconds, reference_ms, wait_until_quiet
from voxfleet.commands.bench import run_bench
from voxfleet.processes.ports import any_free

REPOSITORY = Path(__file__).resolve().parents[1]
START_SECONDS, STOP_SECONDS = 180.0, 20.0
QUOTA_CPUS, QUOTA_PERIOD_US = 1.5, 100_000
PAGE_TEXTS = 3
BUSY_LOOP = "while True: pass"
CPUS = psutil.cpu_count() or 1


@dataclass(frozen=True)
class Case:
    """One situation. `goal_rtf` is for the 90th percentile of two cores; None where there is none."""

    name: str
    neighbours: int = 0
    workers: int = 1
    quota: bool = False
    browser: bool = False
    goal_rtf: float | None = None


CASES = (
    Case("idle", goal_rtf=0.25),
    Case("all CPUs but one busy", neighbours=CPUS - 1, goal_rtf=0.45),
    Case("all CPUs busy", neighbours=CPUS, goal_rtf=0.9),
    Case("two workers, two listeners", workers=2, goal_rtf=0.9),
    Case(f"a quota of {QUOTA_CPUS} CPUs", quota=True, goal_rtf=0.45),
    Case("a browser plays the studio", browser=True, goal_rtf=0.45),
)


class Skipped(Exception):
    """This machine cannot show a case; the message says why."""


@contextlib.contextmanager
def quota_group() -> Iterator[Path]:
    """A control group of 1.5 CPUs, version 2 or 1. Raises Skipped."""
    for top in (Path("/sys/fs/cgroup"), _own_cpu_group()):
        group = top / f"voxfleet-{os.getpid()}"
        try:
            if not (top / "cgroup.procs").exists():
                continue
            group.mkdir()
        except OSError:
            continue
        try:
            quota = f"{round(QUOTA_CPUS * QUOTA_PERIOD_US)}"
            if (group / "cpu.max").exists():
                (group / "cpu.max").write_text(f"{quota} {QUOTA_PERIOD_US}")
            else:
                (group / "cpu.cfs_quota_us").write_text(quota)
            yield group
            return
        except OSError as error:
            raise Skipped(f"control groups take no quota here: {error}") from error
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
    raise Skipped("no control group can be made here")


def _own_cpu_group() -> Path:
    """Of version 1, whose groups may have processes and groups in them."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    own = next((path for _, controllers, path in lines if "cpu" in controllers.split(",")), "/")
    return Path("/sys/fs/cgroup/cpu") / own.strip("/")


@contextlib.contextmanager
def serving(case: Case, checkout: Path) -> Iterator[tuple[str, psutil.Process]]:
    """(URL, process) of a server that can speak."""
    port = any_free("127.0.0.1")
    command = [sys.executable, "-m", "voxfleet", "serve", "--port", str(port), "--device", "cpu"]
    removed = ("OMP_", "GOMP_", "VOXFLEET_")
    variables = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    with contextlib.ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        log = stack.enter_context(tempfile.TemporaryFile())
        if case.quota:
            group = stack.enter_context(quota_group())
            command = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh", *command]
        variables |= {"VOXFLEET_DATA_DIR": data, "PYTHONPATH": str(checkout)}
        server = subprocess.Popen(
            [*command, "--workers", str(case.workers)],
            cwd=checkout,
            env=variables,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(lambda: _is_ready(url, case.workers), server, log)
            yield url, psutil.Process(server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _is_ready(url: str, workers: int) -> bool:
    try:
        answer = httpx.get(f"{url}/ready", timeout=2)
    except httpx.TransportError:
        return False
    return answer.is_success and answer.json()["workers"] >= workers


def _wait_for(probe: Callable[[], bool], server: subprocess.Popen, log: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not probe():
        if server.poll() is not None or time.monotonic() > deadline:
            log.seek(0)
            raise RuntimeError(f"the server does not start:\n{log.read().decode(errors='replace')}")
        time.sleep(0.2)


@contextlib.contextmanager
def busy_neighbours(count: int) -> Iterator[list[psutil.Process]]:
    """So many processes that compute without end."""
    loops = [subprocess.Popen([sys.executable, "-c", BUSY_LOOP]) for _ in range(count)]
    try:
        yield [psutil.Process(loop.pid) for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def hear_in_browser(url: str) -> dict[str, Any]:
    """The studio's own figures over some clips, played to their end."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        raise Skipped("there is no Chromium")
    factors, underruns = [], 0
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--autoplay-policy=no-user-gesture-required"]
        page = playwright.chromium.launch(executable_path=path, args=arguments).new_page()
        page.goto(url)
        for _ in range(PAGE_TEXTS):
            page.fill("#text", "Please remember to close the window before you leave the room.")
            page.click("#generate")
            page.wait_for_selector('#stage[data-state="done"][data-player="ended"]', timeout=120_000)
            factors.append(float((page.text_content("#tile-rtf") or "").strip("× ")))
            underruns += int(page.get_attribute("#stage", "data-underruns") or 0)
            page.fill("#text", "")
    return {"requests": PAGE_TEXTS, "rtf": {"p50": sorted(factors)[len(factors) // 2], "max": max(factors)},
            "underruns": underruns}  # fmt: skip


def measure(case: Case, checkout: Path, requests: int, patience_seconds: float) -> dict[str, Any]:
    """The figures of one case; {"skipped": why} where this machine cannot show it."""
    quiet = wait_until_quiet(patience_seconds)
    try:
        with serving(case, checkout) as (url, server), busy_neighbours(case.neighbours) as loops:
            ours = [server, *loops, psutil.Process()]
            asyncio.run(run_bench(url, case.workers, case.workers))  # the first clip after a start
            began, busy, mine = time.monotonic(), busy_seconds(), cpu_seconds(ours)
            if case.browser:
                figures = hear_in_browser(url)
            else:
                figures = asyncio.run(run_bench(url, case.workers, requests)).summary()
            seconds = time.monotonic() - began
            foreign = (busy_seconds() - busy - (cpu_seconds(ours) - mine)) / seconds
    except Skipped as reason:
        return {**asdict(case), "skipped": str(reason)}
    about = {
        "quiet_before": quiet,
        "foreign_cpus": round(max(0.0, foreign), 2),
        "reference_ms": reference_ms(),
    }
    return {**asdict(case), **figures, **about}


def drawing(document: dict[str, Any]) -> str:
    """SVG: a bar of the real-time factor per case, its goal as a line, underruns in words."""
    rows = [case for case in document["cases"] if "skipped" not in case]
    scale = 420 / max(1.0, *(max(row["rtf"]["p50"], row["goal_rtf"] or 0) for row in rows))
    height = 70 + 34 * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="820" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="22" font-size="14">Real-time factor beside other programs, {CPUS} CPUs '
        "(line: goal)</text>",
    ]
    for place, row in enumerate(rows):
        y, factor = 44 + 34 * place, row["rtf"]["p50"]
        colour = "#1f6feb" if factor < 1 else "#d1242f"
        parts.append(f'<text x="12" y="{y + 15}">{escape(row["name"])}</text>')
        parts.append(f'<rect x="200" y="{y}" width="{factor * scale:.1f}" height="20" fill="{colour}"/>')
        if row["goal_rtf"]:
            at = 200 + row["goal_rtf"] * scale
            parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y - 4}" y2="{y + 24}" stroke="#24292f"/>')
        words = f"{factor:.2f}, {row['underruns']} underruns"
        parts.append(f'<text x="{208 + factor * scale:.1f}" y="{y + 15}" fill="#24292f">{words}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=6, help="clips per case")
    parser.add_argument("--only", nargs="*", help="beginnings of names of cases")
    parser.add_argument("--checkout", type=Path, default=REPOSITORY, help="the version to measure")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a quiet machine")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    wanted = [case for case in CASES if not arguments.only or case.name.startswith(tuple(arguments.only))]
    document: dict[str, Any] = {
        "cpus": CPUS,
        "machine": platform.processor() or platform.machine(),
        "cases": [],
    }
    for case in wanted:
        figures = measure(case, arguments.checkout.resolve(), arguments.requests, arguments.patience)
        document["cases"].append(figures)
        print(json.dumps(figures), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        arguments.json.with_suffix(".svg").write_text(drawing(document), encoding="utf-8")


if __name__ == "__main__":
    main()
