"""Open-loop load on `POST /v1/audio/speech`: first audible sample and underruns at fixed request rates.

    python -m benchmarks.open_loop --url http://127.0.0.1:8000 --rates 1,4,8
    python -m benchmarks.open_loop --serve voxcpm2            a gateway and a worker on the first GPU
    python -m benchmarks.open_loop --serve tiny --device cpu --rates 1,2 --seconds 5 --no-save

Requests arrive by a Poisson process, whether or not earlier ones were answered. They, and what is measured,
are those of tts-bench (github.com/nari-labs/benchmarks, its methodology.md): the whole prompt with
`stream`, `non_streaming_mode: false`, `stream_format: audio` and raw 24 kHz PCM; time zero is the first byte
of the body; the first audible sample is the first of 10 ms that reach -45 dBFS, when a player that starts at
once plays it; such a player's pauses are underruns; percentiles are nearest ranks. Prompts are the held-out
sentences of the bundled voice, as Seed-TTS's cannot come along. The clients are processes on the same host.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks.gpu.checkpoints import DIRECTORY, SHAPES, make_checkpoint
from benchmarks.gpu.service import service
from engine.cpu.cpus import available_cpus
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from voxfleet.commands.bench import Playback

RESULTS = Path(__file__).parent / "results" / "open_loop.json"
SAMPLE_RATE, SAMPLE_BYTES = 24_000, 2
AUDIBLE = 10 ** (-45 / 20)
ONSET_SAMPLES = SAMPLE_RATE // 100
RATE_PER_PROCESS = 10.0
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Load:
    """What one process asks for: `rate` requests a second, the measured ones for `seconds` after `warmup`."""

    url: str
    rate: float
    warmup: float
    seconds: float
    seed: int
    max_seconds: float
    model: str = "voxcpm"
    voice: str = "default"


@dataclass
class Heard:
    """What one client heard, in seconds from its first byte; None where nothing came."""

    lag: float
    first_byte: float | None = None
    audible: float | None = None
    end: float = 0.0
    playback: Playback = field(default_factory=lambda: Playback(preroll_seconds=0.0))
    error: str | None = None


class Onset:
    """Finds the first audible 10 ms of 16-bit samples."""

    def __init__(self) -> None:
        self._samples = np.zeros(0, np.int16)
        self._before = 0

    def offset(self, samples: np.ndarray) -> int | None:
        """Index of the first audible sample in all samples so far, once there is one."""
        self._samples = np.concatenate((self._samples, samples))
        whole = len(self._samples) // ONSET_SAMPLES * ONSET_SAMPLES
        windows = self._samples[:whole].reshape(-1, ONSET_SAMPLES).astype(np.float64) / 32768
        loud = np.flatnonzero(np.sqrt(np.square(windows).mean(1)) >= AUDIBLE)
        if len(loud):
            return self._before + int(loud[0]) * ONSET_SAMPLES
        self._samples, self._before = self._samples[whole:], self._before + whole
        return None


def arrivals(rate: float, seconds: float, draw: random.Random) -> list[float]:
    """Times of a Poisson process of that rate."""
    times, at = [], 0.0
    while (at := at + draw.expovariate(rate)) < seconds:
        times.append(at)
    return times


async def ask(client: httpx.AsyncClient, load: Load, text: str, lag: float) -> Heard:
    """One request, heard to its end."""
    heard, onset, rest = Heard(lag), Onset(), b""
    body = json.dumps(
        {
            "model": load.model, "voice": load.voice, "input": text, "language": "English", "stream": True,
            "stream_format": "audio", "response_format": "pcm", "non_streaming_mode": False,
            "max_seconds": load.max_seconds,
        }
    ).encode()  # fmt: skip
    began = time.perf_counter()

    async def content() -> AsyncIterator[bytes]:
        nonlocal began
        began = time.perf_counter()
        yield body

    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    try:
        async with client.stream("POST", "/v1/audio/speech", content=content(), headers=headers) as answer:
            if answer.status_code != httpx.codes.OK:
                heard.error = f"status {answer.status_code}"
                return heard
            async for chunk in answer.aiter_raw():
                now, rest = time.perf_counter() - began, rest + chunk
                heard.first_byte = now if heard.first_byte is None else heard.first_byte
                whole = len(rest) // SAMPLE_BYTES * SAMPLE_BYTES
                receive(heard, onset, np.frombuffer(rest[:whole], np.int16), now)
                rest = rest[whole:]
            heard.end = time.perf_counter() - began
    except httpx.HTTPError as error:
        heard.error = type(error).__name__
    return heard


def receive(heard: Heard, onset: Onset, samples: np.ndarray, now: float) -> None:
    """Samples arrive `now`; the player plays them, and we listen for the first audible one."""
    if not len(samples):
        return
    playback = heard.playback
    playback.receive(now, len(samples) / SAMPLE_RATE)
    if heard.audible is None and (offset := onset.offset(samples)) is not None:
        heard.audible = playback.plays_at(offset / SAMPLE_RATE)


async def offer(load: Load, until_started: float) -> list[Heard]:
    """Ask at Poisson times from `until_started` (time.time()) on; what was asked after the warm-up."""
    draw = random.Random(load.seed)
    prompts = [line for line in read_lines(HELD_OUT_FILE) if not line.startswith("#")]
    times = arrivals(load.rate, load.warmup + load.seconds, draw)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    await asyncio.sleep(max(0.0, until_started - time.time()))
    began, tasks = time.perf_counter(), []
    async with httpx.AsyncClient(base_url=load.url, timeout=TIMEOUT_SECONDS, limits=limits) as client:
        for at in times:
            await asyncio.sleep(max(0.0, began + at - time.perf_counter()))
            lag = time.perf_counter() - began - at
            task = asyncio.create_task(ask(client, load, draw.choice(prompts), lag))
            tasks.append((at, task))
        await asyncio.gather(*(task for _, task in tasks))
    return [task.result() for at, task in tasks if at >= load.warmup]


def offer_in_process(load: Load, until_started: float) -> list[Heard]:
    """In a process of its own."""
    return asyncio.run(offer(load, until_started))


def measure(pool: ProcessPoolExecutor, load: Load) -> dict[str, Any]:
    """The figures of one rate, offered by as many processes as it needs."""
    count = max(1, min(available_cpus() // 2, math.ceil(load.rate / RATE_PER_PROCESS)))
    start = time.time() + 1.0
    loads = [
        Load(**{**vars(load), "rate": load.rate / count, "seed": 1000 * load.seed + i}) for i in range(count)
    ]
    parts = [pool.submit(offer_in_process, part, start) for part in loads]
    return summary(load, [heard for part in parts for heard in part.result()])


def nearest_rank(values: Sequence[float]) -> dict[str, float] | None:
    """Percentiles in milliseconds, or None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    ranks = {f"p{p}": ordered[max(0, math.ceil(p * len(ordered) / 100) - 1)] for p in (50, 95, 99)}
    return {name: round(1e3 * value, 2) for name, value in (ranks | {"max": ordered[-1]}).items()}


def summary(load: Load, all_heard: list[Heard]) -> dict[str, Any]:
    """Figures by name; times in milliseconds."""
    good = [heard for heard in all_heard if heard.error is None and heard.audible is not None]
    audio = sum(heard.playback.audio_seconds for heard in good)
    silent = sum(heard.error is None and heard.audible is None for heard in all_heard)
    return {
        "rate": load.rate,
        "requests": len(all_heard),
        "errors": dict(Counter(heard.error for heard in all_heard if heard.error)),
        "never_audible": silent,
        "requests_with_underruns": sum(heard.playback.underruns > 0 for heard in good),
        "audible_ms": nearest_rank([heard.audible for heard in good if heard.audible is not None]),
        "first_byte_ms": nearest_rank([heard.first_byte for heard in good if heard.first_byte is not None]),
        "scheduling_lag_ms": nearest_rank([heard.lag for heard in all_heard]),
        "real_time_factor_p95": round(
            nearest_rank([heard.end / heard.playback.audio_seconds for heard in good])["p95"] / 1e3, 4
        )
        if good
        else None,
        "clip_seconds_mean": round(audio / len(good), 3) if good else None,
        "audio_seconds_per_second": round(audio / load.seconds, 1),
        "seconds": load.seconds,
        "seed": load.seed,
    }


def line(figures: dict[str, Any]) -> str:
    """The printed row."""
    if figures["audible_ms"] is None:
        return f"{figures['rate']:>6g} /s  nothing heard: {figures['errors']}"
    audible, lag = figures["audible_ms"], figures["scheduling_lag_ms"]
    return (
        f"{figures['rate']:>6g} /s  first audible sample p50 {audible['p50']:7.1f}  p95 {audible['p95']:7.1f}"
        f"  p99 {audible['p99']:7.1f} ms  {figures['audio_seconds_per_second']:7.1f} audio s/s"
        f"  underruns {figures['requests_with_underruns']} of {figures['requests']}"
        f"  errors {sum(figures['errors'].values())}  client late p95 {lag['p95']:.1f} ms"
    )


def measure_all(url: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """One rate after the other; every row is printed when it is there."""
    rows = []
    with ProcessPoolExecutor(available_cpus(), mp_context=get_context("spawn")) as pool:
        for rate in arguments.rates:
            load = Load(
                url, rate, arguments.warmup, arguments.seconds, arguments.seed, arguments.max_seconds,
                arguments.model, arguments.voice,
            )  # fmt: skip
            rows.append(measure(pool, load))
            print(line(rows[-1]), flush=True)
    return rows


async def serve_and_measure(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The same before a gateway and one worker that are started for it."""
    checkpoint = make_checkpoint(arguments.serve, arguments.directory).resolve()
    async with service(checkpoint, arguments.device, arguments.slots) as processes:
        return await asyncio.to_thread(measure_all, processes["gateway"].url, arguments)


def save(arguments: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    about: dict[str, Any] = {"cores": available_cpus()}
    if arguments.serve:
        import torch

        from benchmarks.gpu.results import machine

        about = machine(torch.device(arguments.device), about)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    document = {"script": "benchmarks/open_loop.py", "server": arguments.serve or "given by --url"}
    document |= {"rates": rows, "machine": about, "at": at}
    arguments.results.write_text(json.dumps(document, indent=1) + "\n")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    server = parser.add_mutually_exclusive_group(required=True)
    server.add_argument("--url", help="of a server that runs")
    server.add_argument("--serve", choices=SHAPES, help="start a service with random weights of this shape")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--slots", type=int, default=256)
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="where checkpoints are made")
    parser.add_argument(
        "--rates",
        type=lambda text: [float(part) for part in text.split(",")],
        default=[1.0, 10.0, 20.0, 40.0, 80.0],
    )
    parser.add_argument("--warmup", type=float, default=5.0, help="seconds of each rate that do not count")
    parser.add_argument("--seconds", type=float, default=30.0, help="seconds of each rate that count")
    parser.add_argument("--max-seconds", type=float, default=4.3, help="longest clip")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="voxcpm")
    parser.add_argument("--voice", default="default")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--no-save", action="store_true", help="print only")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    arguments = parse(argv)
    if arguments.url:
        rows = measure_all(arguments.url, arguments)
    else:
        rows = asyncio.run(serve_and_measure(arguments))
    if not arguments.no_save:
        save(arguments, rows)


if __name__ == "__main__":
    main()
