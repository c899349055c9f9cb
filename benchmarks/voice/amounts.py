"""How much data buys what: adapters of some minutes of a speaker, beside the model given a reference.

    python3 -m benchmarks.voice.amounts RECORDINGS --out DIR                # 3, 10 and 30 minutes
    python3 -m benchmarks.voice.amounts RECORDINGS --shift 0.84 --out DIR   # somebody made of them
    python3 -m benchmarks.voice.amounts RECORDINGS --minutes 10 --setting high_rate telephone --out DIR

RECORDINGS is what `voxfleet finetune` takes; `asterisk.py` makes a folder of a human speaker. `--shift` moves
pitch and formants together, as a longer or shorter vocal tract does, at the same pace. Twenty recordings are
held out, to which Resemblyzer compares. The settings beside "default" are those that users get wrong. Of each
the table tells what is heard: similarity, words, opinion, and how long clips are, since an adapter that
learnt from cut transcripts does not stop. A training takes about 1.7 s a step on two cores, so a whole table
takes hours; what is there in DIR is not trained again.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from benchmarks.voice.finetuned import REFERENCE_RECORDINGS, SENTENCES, Likeness
from benchmarks.voice.judges import Judges
from benchmarks.voice.readers import SAMPLE_RATE
from models.voxcpm import VoxCPM
from models.voxcpm.audio_encoding import read_audio, resample
from models.voxcpm.finetuning.dataset import read_dataset
from models.voxcpm.finetuning.options import FinetuneOptions
from models.voxcpm.finetuning.run import finetune
from models.voxcpm.training.text import HELD_OUT_FILE, read_lines

HELD_OUT = 20
REFERENCE_SECONDS = (2.0, 8.0)


@dataclass(frozen=True)
class Said:
    """A recording in memory: float32 [samples] at `rate`, and its words."""

    samples: np.ndarray
    rate: int
    text: str

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


def as_by_telephone(said: Said) -> Said:
    return Said(resample(said.samples, said.rate, 8000), 8000, said.text)


def cut_short(said: Said) -> Said:
    words = said.text.split()
    return Said(said.samples, said.rate, " ".join(words[: max(1, len(words) // 2)]))


@dataclass(frozen=True)
class Setting:
    """What differs from the defaults."""

    options: dict[str, Any] = field(default_factory=dict)
    of_recording: Callable[[Said], Said] = lambda said: said


SETTINGS = {
    "default": Setting(),
    "high_rate": Setting({"learning_rate": 4e-3}),
    "low_rate": Setting({"learning_rate": 1e-4}),
    "rank_4": Setting({"rank": 4}),
    "rank_128": Setting({"rank": 128}),
    "half_alpha": Setting({"alpha": 16}),
    "telephone": Setting(of_recording=as_by_telephone),
    "cut_transcripts": Setting(of_recording=cut_short),
}


def shifted(said: Said, factor: float) -> Said:
    """Pitch and formants times `factor`, at the same pace."""
    if factor == 1:
        return said
    from librosa.effects import time_stretch  # which Resemblyzer brings

    moved = resample(said.samples, round(said.rate * factor), said.rate)
    return Said(time_stretch(moved, rate=1 / factor), said.rate, said.text)


def parts_of(recordings: list[Said], seed: int = 0) -> tuple[list[Said], list[Said]]:
    """Held out, and to be learnt: the same ones for every amount."""
    order = np.random.default_rng(seed).permutation(len(recordings))
    mixed = [recordings[i] for i in order]
    return mixed[:HELD_OUT], mixed[HELD_OUT:]


def first_minutes(recordings: list[Said], minutes: float) -> list[Said]:
    """As many of them as last so long; all where they are fewer."""
    ends = np.cumsum([said.seconds for said in recordings])
    return recordings[: int(np.searchsorted(ends, 60 * minutes)) + 1]


def write(recordings: list[Said], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, said in enumerate(recordings):
        soundfile.write(folder / f"{number:04}.wav", said.samples, said.rate)
        lines.append(json.dumps({"audio": f"{number:04}.wav", "text": said.text}))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")


def trained(recordings: list[Said], out: Path, setting: Setting, base: str, steps: int) -> float:
    """Seconds that the training took, over all runs."""
    done = out / "took.json"
    if not done.is_file():
        write([setting.of_recording(said) for said in recordings], out / "recordings")
        options = FinetuneOptions(base=base, steps=steps, device="cpu", **setting.options)
        began = time.monotonic()
        found = finetune(out / "recordings", out / "voice", options, lambda event: None)
        spent = max(found.standing.spent_seconds, time.monotonic() - began)
        done.write_text(json.dumps({"seconds": spent, "best_step": found.standing.best_step}))
    return float(json.loads(done.read_text())["seconds"])


def row(who: str, found: dict[str, float], reference: dict[str, float], most: float) -> dict[str, Any]:
    """What was found, and how much of the way from the reference to the speaker was gone."""
    way = most - reference["similarity"]
    gone = (found["similarity"] - reference["similarity"]) / way if way else 0.0
    return {"who": who, **{name: round(value, 3) for name, value in found.items()}, "way": round(gone, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, nargs="+", default=[3, 10, 30])
    parser.add_argument("--setting", nargs="+", choices=SETTINGS, default=["default"])
    parser.add_argument("--shift", type=float, default=1.0)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--base", default="bundled")
    given = parser.parse_args()
    said = [Said(*read_audio(one.audio), one.text) for one in read_dataset(given.recordings)]
    held_out, learnt = parts_of([shifted(one, given.shift) for one in said])
    own = [resample(one.samples, one.rate, SAMPLE_RATE) for one in held_out]
    low, high = REFERENCE_SECONDS
    heard = [resample(one.samples, one.rate, SAMPLE_RATE) for one in learnt if low < one.seconds < high]
    with VoxCPM.from_pretrained(given.base, "cpu", max_num_seqs=SENTENCES) as voice:
        likeness = Likeness(voice, Judges(), own, read_lines(HELD_OUT_FILE)[:SENTENCES])
        most = likeness.similarity(heard[REFERENCE_RECORDINGS:][:HELD_OUT])
        print(json.dumps({"who": "the speaker", "similarity": round(most, 3)}), flush=True)
        given_reference = (np.concatenate(heard[:REFERENCE_RECORDINGS]), SAMPLE_RATE)
        reference = likeness.of(reference_audio=given_reference)
        print(json.dumps(row("reference", reference, reference, most)), flush=True)
        for minutes in given.minutes:
            for name in given.setting:
                out, recordings = given.out / f"{minutes:g}-{name}", first_minutes(learnt, minutes)
                seconds = trained(recordings, out, SETTINGS[name], given.base, given.steps)
                voice.load_lora(out / "voice", f"{minutes:g}-{name}")
                found = row(name, likeness.of(lora=f"{minutes:g}-{name}"), reference, most)
                about = {"minutes": round(sum(one.seconds for one in recordings) / 60, 1)}
                print(json.dumps({**about, **found, "trained_s": round(seconds)}), flush=True)


if __name__ == "__main__":
    main()
