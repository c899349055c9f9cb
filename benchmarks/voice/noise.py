"""What noise behind a speaker does to a voice, and what taking it out does (`models.denoising`).

    python3 -m benchmarks.voice.noise [--base bundled] [--output FILE]

flite's four voices read a recording each, and noise is put behind it. By Resemblyzer's cosine: how alike
the clean recording and the noisy one are, and the clean recording and what the model says after the noisy
one; both with the recording as it is, and without noise. Needs flite, and the extra `denoise`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.voice.judging.judges import Judges
from models.denoising import denoised
from models.voxcpm import VoxCPM
from models.voxcpm.training.speech.flite import FLITE_RATE, VOICES, Flite
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.vae.audio_encoding import resample

RESULTS = Path(__file__).parents[1] / "results" / "noise.json"
READ = (
    "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. "
    "It is easy to tell the depth of a well."
)
SENTENCES = 3
PEAK = 0.7
BEHIND = {
    "nothing": None, "pink noise, 15 dB": ("pink", 15), "pink noise, 5 dB": ("pink", 5),
    "other speakers, 10 dB": ("speakers", 10),
}  # fmt: skip
"""What is behind a speaker, and by how much louder the speaker is."""


def recordings() -> dict[str, np.ndarray]:
    """float32 [samples] at FLITE_RATE, by voice."""
    flite = Flite()
    return {voice: flite.say(READ, voice).astype(np.float32) / 32768 for voice in VOICES}


def pink(count: int) -> np.ndarray:
    """Noise whose power falls with frequency, float32 [count]."""
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(count))
    return np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))), count).astype(np.float32)


def others(clips: dict[str, np.ndarray], voice: str, count: int) -> np.ndarray:
    """The other voices at once, each from another place on, float32 [count]."""
    heard = [np.resize(clip, count) for name, clip in clips.items() if name != voice]
    return sum(np.roll(clip, 7919 * number) for number, clip in enumerate(heard))


def noisy(clips: dict[str, np.ndarray], voice: str, behind: tuple[str, int] | None) -> np.ndarray:
    clip = clips[voice]
    if behind is not None:
        kind, decibels = behind
        noise = pink(len(clip)) if kind == "pink" else others(clips, voice, len(clip))
        clip = clip + noise * np.sqrt(np.mean(clip**2) / np.mean(noise**2)) * 10 ** (-decibels / 20)
    return clip * PEAK / np.abs(clip).max()


def measure(base: str) -> Iterator[dict[str, Any]]:
    """A row for each kind of noise: likeness, as the recording is and without noise."""
    judges, clips = Judges(), recordings()
    texts = read_lines(HELD_OUT_FILE)[:SENTENCES]
    own = {name: judges.speaker(clip) for name, clip in clips.items()}
    with VoxCPM.from_pretrained(base, "cpu", max_num_seqs=1) as voice:

        def cloned(recording: np.ndarray, text: str) -> np.ndarray:
            clip = voice.synthesize(text, reference_audio=(recording, FLITE_RATE), seed=3)
            return judges.speaker(resample(clip, voice.sample_rate, FLITE_RATE))

        for name, behind in BEHIND.items():
            row: dict[str, Any] = {"behind": name}
            for how, take in (
                ("as_it_is", lambda clip: clip),
                ("denoised", lambda c: denoised(c, FLITE_RATE)),
            ):
                heard = {speaker: take(noisy(clips, speaker, behind)) for speaker in clips}
                alike = [own[speaker] @ judges.speaker(clip) for speaker, clip in heard.items()]
                clones = [
                    own[speaker] @ cloned(clip, text) for speaker, clip in heard.items() for text in texts
                ]
                row[how] = {
                    "recording": round(float(np.mean(alike)), 3),
                    "clone": round(float(np.mean(clones)), 3),
                }
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", default="bundled")
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    rows = []
    for row in measure(given.base):
        print(json.dumps(row), flush=True)
        rows.append(row)
    given.output.write_text(
        json.dumps({"sentences": SENTENCES, "voices": list(VOICES), "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
