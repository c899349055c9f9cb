"""The bundled voice whose worker is killed or loses its device in mid-sentence, against the clip left alone.

Latents are read out of the resume tokens, which hold them in fp32. The seam is where the other worker's audio
begins: the chunk after the longest pause.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from websockets.asyncio.client import connect

from benchmarks.chaos.fleet import ChaosFleet
from benchmarks.shared.fleet import START_SECONDS
from gateway.streams.resumption.token import ResumeTokens

Fault = Callable[[int], Awaitable[object]]
"""Of the worker of this number."""
SECRET = "known to this benchmark"
SENTENCES = (
    "The old lighthouse keeper climbed the stairs every evening to light the lamp above the bay.",
    "Seven small boats were lying on the beach in the morning sun, waiting for the tide to come in.",
    "Please remember to close the window before you leave the room, because it is going to rain.",
)


@dataclass
class Spoken:
    """A clip: its chunks, its latents but for the last patch, and how it ended."""

    chunks: list[np.ndarray] = field(default_factory=list)
    arrivals: list[float] = field(default_factory=list)
    token: str = ""
    ending: dict[str, Any] = field(default_factory=dict)

    @property
    def audio(self) -> np.ndarray:
        """int16 [samples]."""
        return np.concatenate(self.chunks)

    def latents(self) -> np.ndarray:
        """float32 [patches - 1, values]."""
        clip, _ = ResumeTokens(SECRET.encode(), 600.0).open(self.token, "")
        return np.stack([np.frombuffer(patch, dtype="<f4") for patch in clip.latents])

    def seam(self) -> int:
        """The sample at which the audio after the longest pause begins."""
        gaps = [end - begin for begin, end in itertools.pairwise(self.arrivals)]
        chunk = int(np.argmax(gaps)) + 1
        return sum(len(samples) for samples in self.chunks[:chunk])


async def speak(
    fleet: ChaosFleet, text: str, seed: int, fault: Fault | None = None, after_chunks: int = 0
) -> Spoken:
    """One clip; its worker gets the fault after so many chunks."""
    spoken = Spoken()
    url = fleet.urls[0].replace("http", "ws", 1) + "/ws/tts"
    async with connect(url, proxy=None, compression=None, max_size=None) as socket:
        await socket.send(json.dumps({"text": text, "seed": seed, "resume": True}))
        async for message in socket:
            if isinstance(message, bytes):
                spoken.arrivals.append(time.perf_counter())
                spoken.chunks.append(np.frombuffer(message, dtype="<i2"))
                if fault is not None and len(spoken.chunks) == after_chunks:
                    await fault(int(spoken.ending["worker_id"].removeprefix("w")))
                continue
            said = json.loads(message)
            if said["type"] == "resume_token":
                spoken.token += said["token"]
            else:
                spoken.ending = said
    return spoken


async def bundled_voice(
    seed: int, sentences: int = len(SENTENCES), devices: Sequence[str] = ("cpu",), *, losing: bool = False
) -> dict[str, Any]:
    """Every sentence twice, once left alone and once with a fault; the worst of the differences.

    losing: the fault is a lost device, after which the worker has to end by itself, with status 1.
    """
    cases, statuses = [], []
    settings = {"resume_secret": SECRET, "log_level": "info"}
    async with ChaosFleet(
        workers=2, slots=2, model="bundled", seed=seed, gateway_settings=settings, devices=devices,
        losable=losing,
    ) as fleet:  # fmt: skip
        lost: list[int] = []

        async def fault(index: int) -> None:
            lost.append(index)
            await (fleet.lose_device if losing else fleet.kill_worker)(index)

        for number, text in enumerate(SENTENCES[:sentences]):
            whole = await speak(fleet, text, seed + number)
            after_chunks = fleet.draw.randrange(4, len(whole.chunks) - 4)
            broken = await speak(fleet, text, seed + number, fault, after_chunks)
            cases.append(compare(whole, broken))
            async with asyncio.timeout(START_SECONDS):
                statuses.append(await fleet.servers[lost[-1]].ended())
            fleet.restart_worker(lost[-1])
            await fleet.until_serving()
    return {
        "clips": len(cases),
        "exit_statuses": statuses,
        "migrations": sum(case["migrations"] for case in cases),
        "same_length": all(case["same_length"] for case in cases),
        "latents_max_difference": max(case["latents_max_difference"] for case in cases),
        "latents_max_relative_difference": max(case["latents_max_relative_difference"] for case in cases),
        "audio_max_difference": max(case["audio_max_difference"] for case in cases),
        "seam_jump_over_percentile_99_9": max(case["seam_jump_over_percentile_99_9"] for case in cases),
    }


def compare(whole: Spoken, broken: Spoken) -> dict[str, Any]:
    """Differences of samples are in full scale; the jump is in units of the clip's own 99.9th percentile."""
    expected, audio = whole.audio.astype(np.float64), broken.audio.astype(np.float64)
    latents, moved = whole.latents(), broken.latents()
    same_length = audio.shape == expected.shape and latents.shape == moved.shape
    samples, patches = min(len(audio), len(expected)), min(len(latents), len(moved))
    difference = float(np.abs(latents[:patches] - moved[:patches]).max())
    jumps, seam = np.abs(np.diff(audio)), broken.seam()
    return {
        "migrations": broken.ending["migrations"],
        "same_length": same_length,
        "latents_max_difference": difference,
        "latents_max_relative_difference": difference / float(np.abs(latents).max()),
        "audio_max_difference": float(np.abs(audio[:samples] - expected[:samples]).max()) / 32768,
        "seam_jump_over_percentile_99_9": float(jumps[seam - 1] / np.percentile(jumps, 99.9)),
    }
