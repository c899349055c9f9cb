"""A book as a job: does it come whole, in order, with its chapters, without more memory the longer it is?

    python -m benchmarks.book [--characters 20000] [--chapters 5] [--as job|stream]

A worker with the bundled voice and a gateway speak a story and held-out sentences, in chapters; again and
again where more is asked for than there is. Memory is that of each process alone. Whisper hears three
windows; what it should hear is what the times of words promise for them. Needs jiwer and the extra `align`.
As a stream, the text is one clip over `WS /ws/tts`: audio and memory are looked at, nothing is kept or heard.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import av
import soundfile

from benchmarks.shared.fleet import Process, free_port, until_ready
from benchmarks.shared.results import keep, kept
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.judging.measures import SAMPLE_RATE, word_error_rate
from benchmarks.voice.parts.story import FILE as STORY
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.vae.audio_encoding import resample
from voxfleet.client import AsyncClient

RESULT = Path(__file__).parent / "results" / "book.json"
WINDOWS = (0.1, 0.5, 0.9)
"""Where they begin, as shares of the book."""
WINDOW_SECONDS = 28.0
_PARAGRAPH_SENTENCES = 6
_LOOK_SECONDS = 5.0
_LOAD_SECONDS = 300.0
_SLOWEST = 10.0
"""Seconds of work for a second of speech, with which nobody waits for the end any more."""


@dataclass(frozen=True)
class Memory:
    """MiB of one process: when the first tenth was spoken, at the end, and the most from then on."""

    first_tenth: float
    end: float
    most: float


def book(characters: int, chapters: int) -> str:
    """Chapters of about the same length: the story, then held-out sentences, from the start when they end."""
    paragraphs = [" ".join(each.split()) for each in STORY.read_text().split("\n\n")[1:]]
    lines = read_lines(HELD_OUT_FILE)
    for start in range(0, len(lines), _PARAGRAPH_SENTENCES):
        paragraphs.append(" ".join(lines[start : start + _PARAGRAPH_SENTENCES]))
    texts, length = [], 0
    for paragraph in cycle(paragraphs):
        if length >= characters:
            break
        if length >= characters * _headings(texts) / chapters:
            texts.append(f"Chapter {_headings(texts) + 1}")
        texts.append(paragraph)
        length += len(paragraph) + 2
    return "\n\n".join(texts)


def _headings(texts: list[str]) -> int:
    return sum(text.startswith("Chapter ") for text in texts)


@asynccontextmanager
async def service() -> AsyncIterator[tuple[AsyncClient, dict[str, Process]]]:
    """A client of a gateway with one worker of the bundled voice, and both processes by name."""
    worker = Process("worker", "--model", "bundled", "--device", "cpu", port=free_port())
    gateway = Process("gateway", "--workers", worker.url, port=free_port(), log_level="error")
    try:
        await until_ready(gateway, [worker], _LOAD_SECONDS)
        async with AsyncClient(gateway.url, api_key=None) as client:
            yield client, {"gateway": gateway, "worker": worker}
    finally:
        for process in (gateway, worker):
            process.kill()


async def streamed(text: str) -> dict[str, Any]:
    """The whole text as one clip: seconds of audio, how it ended, and the memory of both processes."""
    looked: dict[str, list[tuple[float, int]]] = {"gateway": [], "worker": []}
    heard_bytes, looked_at, ending = 0, 0.0, {}
    async with service() as (client, processes):
        async for item in client.stream(text, seed=7):
            if isinstance(item, bytes):
                heard_bytes += len(item)
            else:
                ending = item
            if time.monotonic() - looked_at >= _LOOK_SECONDS:
                looked_at = time.monotonic()
                for name, process in processes.items():
                    looked[name].append((heard_bytes, process.memory_bytes()))
    shares = {name: [(done / heard_bytes, size) for done, size in seen] for name, seen in looked.items()}
    return {
        "characters": len(text),
        "audio_seconds": ending["audio_seconds"],
        "finish_reason": ending["finish_reason"],
        "memory_mib": {name: asdict(_memory(seen)) for name, seen in shares.items()},
    }


async def speak(text: str, folder: Path) -> dict[str, Any]:
    """The job, its audio in `folder`/book.flac and book.mp3, its words, and the memory of both processes."""
    async with service() as (client, processes):
        job = await client.start_job(text, seed=7, timestamps="word", format="flac")
        looked = await _followed(client, job["id"], processes)
        for format in ("flac", "mp3"):
            await client.save_job(job["id"], folder / f"book.{format}", format=format)
        words = json.loads(await client.job_words(job["id"]))
        job = await client.job(job["id"])
    return {
        "job": job,
        "words": words,
        "memory": {name: asdict(_memory(seen)) for name, seen in looked.items()},
    }


async def _followed(
    client: AsyncClient, job_id: str, processes: dict[str, Process]
) -> dict[str, list[tuple[float, int]]]:
    """Progress and bytes, for each process, until the job is complete."""
    looked: dict[str, list[tuple[float, int]]] = {name: [] for name in processes}
    while True:
        job = await client.job(job_id)
        for name, process in processes.items():
            looked[name].append((job["progress"], process.memory_bytes()))
        if job["state"] == "complete":
            return looked
        if job["state"] not in ("queued", "running"):
            raise RuntimeError(f"the job is {job['state']}: {job['error']}")
        await asyncio.sleep(_LOOK_SECONDS)


def _memory(looked: list[tuple[float, int]]) -> Memory:
    later = [round(size / 2**20, 1) for progress, size in looked if progress >= 0.1]
    return Memory(later[0], later[-1], max(later))


def check(text: str, spoken: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What is wrong with order, ends and chapters: nothing, all being well."""
    words, seconds = spoken["words"]["words"], spoken["job"]["audio_seconds"]
    disorder = sum(before["end_seconds"] > after["start_seconds"] for before, after in pairwise(words))
    chapters = spoken["job"]["chapters"]
    with av.open(str(folder / "book.mp3")) as file:
        marks = [chapter["metadata"]["title"] for chapter in file.chapters()]
    return {
        "words": len(words),
        "source": spoken["words"]["source"],
        "out_of_order": disorder + sum(word["start_seconds"] > word["end_seconds"] for word in words),
        "past_the_end": sum(word["end_seconds"] > seconds for word in words),
        "text_is_whole": spoken["words"]["text"] == text,
        "chapters": [(each["title"], round(each["start_seconds"], 1)) for each in chapters],
        "chapters_in_mp3": len(marks) == len(chapters),
        "heading_off_ms": max(_off(text, words, each) for each in chapters),
    }


def _off(text: str, words: list[dict[str, Any]], chapter: dict[str, Any]) -> float:
    """How long after its mark a chapter's first word is said."""
    first = next(word for word in words if word["start"] == text.index(f"{chapter['title']}\n"))
    return round(1000 * (first["start_seconds"] - chapter["start_seconds"]))


def heard(spoken: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """Word errors of each window, which begins and ends with a cue."""
    samples, rate = soundfile.read(folder / "book.flac", dtype="float32")
    judges, cues = Judges(threads=1), spoken["words"]["cues"]
    found = []
    for share in WINDOWS:
        begin = next(c["start_seconds"] for c in cues if c["start_seconds"] >= share * len(samples) / rate)
        until = begin + WINDOW_SECONDS
        inside = [cue for cue in cues if begin <= cue["start_seconds"] and cue["end_seconds"] <= until]
        end = inside[-1]["end_seconds"]
        clip = samples[int(rate * max(0.0, begin - 0.05)) : int(rate * (end + 0.05))]
        text = " ".join(cue["text"] for cue in inside)
        said = judges.words(resample(clip, rate, SAMPLE_RATE))
        errors = round(word_error_rate([text], [said]), 4)
        found.append({"start_seconds": begin, "words": len(text.split()), "errors": errors})
    return found


async def measure(characters: int, chapters: int) -> dict[str, Any]:
    text = book(characters, chapters)
    with tempfile.TemporaryDirectory(prefix="voxfleet-book-") as name:
        folder = Path(name)
        limit = _SLOWEST * len(text) / 15
        async with asyncio.timeout(limit):
            spoken = await speak(text, folder)
        return {
            "characters": len(text),
            "audio_seconds": spoken["job"]["audio_seconds"],
            **check(text, spoken, folder),
            "memory_mib": spoken["memory"],
            "windows": await asyncio.to_thread(heard, spoken, folder),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--characters", type=int, default=20_000)
    parser.add_argument("--chapters", type=int, default=5)
    parser.add_argument("--as", choices=("job", "stream"), default="job", dest="form")
    arguments = parser.parse_args()
    if arguments.form == "stream":
        found = asyncio.run(streamed(book(arguments.characters, arguments.chapters)))
    else:
        found = asyncio.run(measure(arguments.characters, arguments.chapters))
    print(json.dumps(found, indent=1))
    keep(RESULT, kept(RESULT) | {arguments.form: found})


if __name__ == "__main__":
    main()
