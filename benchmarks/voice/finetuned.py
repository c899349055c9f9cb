"""How much adapters sound like the speaker they were trained on, beside the same model given a reference.

    python3 -m benchmarks.voice.finetuned --own HELD_OUT --learnt RECORDINGS --adapter DIR ...

HELD_OUT and RECORDINGS are folders of recordings of one speaker; the first ones were not trained on.
Similarity is Resemblyzer's cosine with the mean of the held-out recordings. That of the speaker's other
recordings is the most there is; held-out ones that the audio VAE alone encoded and decoded tell how near the
model can come.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.voice.judging.judge import errors_in
from benchmarks.voice.judging.judges import Judges
from benchmarks.voice.speakers.readers import SAMPLE_RATE, Clip
from models.voxcpm import VoxCPM
from models.voxcpm.checkpoint import load_checkpoint, resolve_model
from models.voxcpm.finetuning.recordings.speech import prepare
from models.voxcpm.training.texts.sentences import HELD_OUT_FILE, read_lines
from models.voxcpm.vae.audio_encoding import read_audio, resample

SENTENCES, REFERENCE_RECORDINGS, OTHER_RECORDINGS = 8, 3, 10
REFERENCE_SECONDS = (3.0, 6.0)


def recordings_in(folder: Path) -> list[np.ndarray]:
    """All wav files, float32 [samples] at 16 kHz."""
    found = (read_audio(file) for file in sorted(folder.glob("*.wav")))
    return [resample(samples, rate, SAMPLE_RATE) for samples, rate in found]


@torch.inference_mode()
def through_the_vae(base: str, clips: list[np.ndarray]) -> list[np.ndarray]:
    """Clips encoded and decoded, float32 at 16 kHz, at the level that training hears them at."""
    checkpoint = load_checkpoint(resolve_model(base), "cpu")
    vae, patch = checkpoint.vae, checkpoint.config.patch_size * checkpoint.config.audio_vae_config.hop_length
    found = []
    for clip in clips:
        heard = prepare(clip, SAMPLE_RATE, vae.config.sample_rate).samples
        padded = torch.from_numpy(np.pad(heard, (0, -len(heard) % patch)))[None, None]
        decoded = vae.decode(vae.encode(padded))[0, 0].numpy()
        found.append(resample(decoded, vae.config.output_sample_rate, SAMPLE_RATE))
    return found


class Likeness:
    """Judges clips of the same sentences against one speaker."""

    def __init__(self, voice: VoxCPM, judges: Judges, own: list[np.ndarray], texts: list[str]) -> None:
        self._voice, self._judges, self._texts = voice, judges, texts
        mean = np.mean([judges.speaker(clip) for clip in own], axis=0)
        self._speaker = mean / np.linalg.norm(mean)

    def similarity(self, clips: list[np.ndarray]) -> float:
        return float(np.mean([self._speaker @ self._judges.speaker(clip) for clip in clips]))

    def of(self, **options: Any) -> dict[str, float]:
        """What the model says with `options` of `VoxCPM.generate`."""
        streams = [self._voice.generate(text, seed=seed, **options) for seed, text in enumerate(self._texts)]
        spoken = [np.concatenate(list(stream)) for stream in streams]
        samples = [resample(clip, self._voice.sample_rate, SAMPLE_RATE) for clip in spoken]
        return self.judged([Clip(text, clip) for text, clip in zip(self._texts, samples, strict=True)])

    def judged(self, clips: list[Clip]) -> dict[str, float]:
        """What clips of any words are like."""
        samples = [clip.samples for clip in clips]
        return {
            "similarity": self.similarity(samples),
            "word_error_rate": errors_in(clips, [self._judges.words(clip) for clip in samples]),
            "opinion_score": float(np.mean([self._judges.opinion_score(clip) for clip in samples])),
            "seconds": float(np.mean([len(clip) / SAMPLE_RATE for clip in samples])),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--own", type=Path, required=True, help="recordings that were held out")
    parser.add_argument("--learnt", type=Path, required=True, help="recordings that were trained on")
    parser.add_argument("--adapter", type=Path, action="append", default=[])
    parser.add_argument("--base", default="bundled")
    given = parser.parse_args()
    held_out, learnt, judges = recordings_in(given.own), recordings_in(given.learnt), Judges()
    low, high = (seconds * SAMPLE_RATE for seconds in REFERENCE_SECONDS)
    fitting = [clip for clip in learnt if low < len(clip) < high]
    reference = (np.concatenate(fitting[:REFERENCE_RECORDINGS]), SAMPLE_RATE)
    with VoxCPM.from_pretrained(given.base, "cpu", max_num_seqs=SENTENCES) as voice:
        texts = read_lines(HELD_OUT_FILE)[:SENTENCES]
        likeness = Likeness(voice, judges, held_out, texts)
        others = fitting[REFERENCE_RECORDINGS:][:OTHER_RECORDINGS]
        print(json.dumps({"who": "the speaker", "similarity": likeness.similarity(others)}))
        decoded = through_the_vae(given.base, held_out)
        scores = [judges.opinion_score(clip) for clip in decoded]
        bound = {"similarity": likeness.similarity(decoded), "opinion_score": float(np.mean(scores))}
        print(json.dumps({"who": "audio VAE", **bound}))
        print(json.dumps({"who": "reference", **likeness.of(reference_audio=reference)}))
        for adapter in given.adapter:
            voice.load_lora(adapter, "learnt")
            print(json.dumps({"who": str(adapter), **likeness.of(lora="learnt")}), flush=True)


if __name__ == "__main__":
    main()
