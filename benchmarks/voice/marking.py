"""How well the watermark is found in what the bundled voice says, what it costs and how it sounds.

    python -m benchmarks.voice.marking --json marking.json
    python -m benchmarks.voice.marking --wavs FOLDER --mos

Sentences of `models/voxcpm/training/texts/held_out.txt` are spoken, or taken from a folder of WAV files. Each
is looked at unmarked and marked, as it is and after codecs, other sample rates, noise and a seam in the
middle where another gateway went on. `--mos` rates both by DistillMOS (`pip install distillmos`, and
torchaudio). Needs the extra `watermark`. Ends with exit status 1 where a goal is missed.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import soundfile
import soxr

from gateway.audio.watermark import Watermark, is_marked, watermark_confidence

GOAL_FOUND, GOAL_MISTAKEN = 0.99, 0.01
PATCH_SECONDS = 0.16
CODECS = {"mp3": ("mp3", "libmp3lame"), "aac": ("adts", "aac"), "opus": ("ogg", "libopus")}

Clip = tuple[np.ndarray, int]
"""Mono int16 samples [n], and their rate."""


def mark(clip: Clip) -> Clip:
    """As a gateway does, patch by patch."""
    samples, rate = clip
    watermark, step = Watermark(rate), round(PATCH_SECONDS * rate)
    pieces = [watermark.process(samples[at : at + step].tobytes()) for at in range(0, len(samples), step)]
    return np.frombuffer(b"".join([*pieces, watermark.process(b"", last=True)]), "<i2"), rate


def mark_with_seam(clip: Clip) -> Clip:
    """The second half by a gateway that knows nothing of the first."""
    samples, rate = clip
    half = len(samples) // 2
    return np.concatenate([mark((samples[:half], rate))[0], mark((samples[half:], rate))[0]]), rate


def through(format: str, bit_rate: int) -> Callable[[Clip], Clip]:
    """Encoded and decoded by a codec."""

    def convert(clip: Clip) -> Clip:
        samples, rate = clip
        container_name, codec = CODECS[format]
        file = io.BytesIO()
        with av.open(file, "w", format=container_name) as container:
            stream = container.add_stream(codec, rate=rate)
            stream.layout, stream.bit_rate = "mono", bit_rate
            frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
            frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), 0
            for packet in (*stream.encode(frame), *stream.encode(None)):
                container.mux(packet)
        file.seek(0)
        with av.open(file) as container:
            to_s16 = av.AudioResampler(format="s16", layout="mono")
            frames = [out for frame in container.decode(audio=0) for out in to_s16.resample(frame)]
            return np.concatenate([frame.to_ndarray().reshape(-1) for frame in frames]), frames[0].sample_rate

    return convert


def at_rate(rate: int) -> Callable[[Clip], Clip]:
    """Resampled."""
    return lambda clip: (soxr.resample(clip[0], clip[1], rate), rate)


def with_noise(clip: Clip) -> Clip:
    """White noise 20 dB below the clip."""
    samples, rate = clip
    level = np.sqrt(np.mean(samples.astype(np.float64) ** 2)) / 10
    noisy = samples + np.random.default_rng(0).normal(0, level, len(samples))
    return np.clip(noisy, -32768, 32767).astype(np.int16), rate


def cut(clip: Clip) -> Clip:
    """One second out of the middle."""
    samples, rate = clip
    begin = max(len(samples) - rate, 0) // 2
    return samples[begin : begin + rate], rate


CHANGES: dict[str, Callable[[Clip], Clip]] = {
    "as it is": lambda clip: clip,
    "MP3 64 kbit/s": through("mp3", 64_000),
    "AAC 64 kbit/s": through("aac", 64_000),
    "Opus 24 kbit/s": through("opus", 24_000),
    "8 kHz": at_rate(8_000),
    "48 kHz": at_rate(48_000),
    "half as loud": lambda clip: (clip[0] // 2, clip[1]),
    "noise at 20 dB": with_noise,
    "one second of it": cut,
}


def is_found(clip: Clip) -> bool:
    return is_marked(watermark_confidence(clip[0] / 32768, clip[1]))


def spoken(count: int) -> Iterator[Clip]:
    """By the bundled voice."""
    from models.voxcpm import VoxCPM
    from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines

    with VoxCPM.from_pretrained("bundled", device="cpu", max_num_seqs=1) as model:
        for seed, text in enumerate(read_lines(HELD_OUT_FILE)[:count]):
            samples = np.concatenate([*model.generate(text, seed=seed)])
            yield np.clip(np.rint(samples * 32768), -32768, 32767).astype(np.int16), model.sample_rate


def read(folder: Path, count: int) -> Iterator[Clip]:
    for path in sorted(folder.glob("*.wav"))[:count]:
        yield soundfile.read(path, dtype="int16")


def measure(clips: list[Clip]) -> dict[str, object]:
    began, used = time.perf_counter(), time.process_time()
    marked = [mark(clip) for clip in clips]
    seconds = sum(len(samples) / rate for samples, rate in clips)
    cost = {
        "processor_seconds_per_second": (time.process_time() - used) / seconds,
        "wall_seconds_per_second": (time.perf_counter() - began) / seconds,
    }
    rates = {
        name: {
            "found": float(np.mean([is_found(change(clip)) for clip in marked])),
            "mistaken": float(np.mean([is_found(change(clip)) for clip in clips])),
        }
        for name, change in CHANGES.items()
    }
    for name, make in {
        "with a seam": mark_with_seam,
        "marked at 24 kHz": lambda clip: mark(at_rate(24_000)(clip)),
        "marked at 48 kHz": lambda clip: mark(at_rate(48_000)(clip)),
    }.items():
        rates[name] = {"found": float(np.mean([is_found(make(clip)) for clip in clips]))}
    return {"clips": len(clips), "audio_seconds": seconds, **cost, "rates": rates}


def opinion_scores(clips: list[Clip]) -> dict[str, float]:
    """DistillMOS of clips as they are and marked."""
    import distillmos
    import torch

    model = distillmos.ConvTransformerSQAModel()
    model.eval()

    def score(clip: Clip) -> float:
        samples = at_rate(16_000)(clip)[0].astype(np.float32) / 32768
        with torch.inference_mode():
            return float(model(torch.from_numpy(samples)[None]))

    before = np.array([score(clip) for clip in clips])
    after = np.array([score(mark(clip)) for clip in clips])
    return {
        "mos_unmarked": float(before.mean()),
        "mos_marked": float(after.mean()),
        "mos_largest_loss": float((before - after).max()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--wavs", type=Path, help="folder of clips instead of the bundled voice")
    parser.add_argument("--clips", type=int, default=120)
    parser.add_argument("--mos", action="store_true", help="rate by DistillMOS too")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    options = parser.parse_args()
    clips = list(read(options.wavs, options.clips) if options.wavs else spoken(options.clips))
    figures = measure(clips) | (opinion_scores(clips) if options.mos else {})
    text = json.dumps(figures, indent=2)
    print(text)
    if options.json:
        options.json.write_text(f"{text}\n", encoding="utf-8")
    found = all(rate["found"] >= GOAL_FOUND for rate in figures["rates"].values())
    return 0 if found and all(r.get("mistaken", 0) <= GOAL_MISTAKEN for r in figures["rates"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
