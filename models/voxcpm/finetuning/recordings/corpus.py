"""Recordings as a corpus of training: examined, encoded to latents, and split into learnt and held out ones.

Latents are kept in files named by the audio, so that another run with the same recordings begins at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.device.staging import upload
from engine.errors import RequestError
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.finetuning.recordings.checks import Checks, Finding, of_all
from models.voxcpm.finetuning.recordings.dataset import Recording
from models.voxcpm.finetuning.recordings.shelf import Shelf
from models.voxcpm.finetuning.recordings.speech import Speech, prepare
from models.voxcpm.requests.sequence_builder import as_read
from models.voxcpm.training.lm.batches import LONGEST_REFERENCE, LatentCorpus
from models.voxcpm.training.recipe import DEFAULT_VOICE
from models.voxcpm.vae.audio_encoding import read_audio
from models.whole_files import replacing

HELD_OUT_SHARE, MOST_HELD_OUT = 0.08, 24
MARKS = 4
"""Positions around a reference, before the audio, and of the silence at its end."""
_ON_THE_SHELF = np.empty(0, np.float32)
Report = Callable[[str, float], None]
"""(what is being done, how much of it is done, 0 to 1)."""


@dataclass(frozen=True)
class Spoken:
    """A recording that is used."""

    recording: Recording
    text: str
    speech: Speech


@dataclass(frozen=True)
class Material:
    """Latents float32 [patches, P, D] of all recordings, and which are learnt and which held out.

    heard: the learnt recordings one by one, with their latents float32 [n, P, D].
    """

    latents: Tensor
    learnt: LatentCorpus
    held_out: LatentCorpus
    held_out_texts: tuple[str, ...]
    seconds: float
    heard: tuple[tuple[Spoken, np.ndarray], ...] = ()


def examine(
    recordings: Sequence[Recording],
    checkpoint: Checkpoint,
    longest_seconds: float,
    longest_document: int,
    normalise: Callable[[str], str],
    report: Report,
    folder: Path | None = None,
) -> tuple[list[Spoken], list[Finding]]:
    """What can be used, and what was found about each.

    longest_document: positions of an example, which a reference has to find room in, too. normalise: puts
    figures of a transcript into words, where the model wants that. folder: for a file of samples.
    """
    rate, patch_seconds = checkpoint.config.audio_vae_config.sample_rate, checkpoint.config.patch_seconds
    room = longest_document - MARKS - LONGEST_REFERENCE
    checks = Checks(checkpoint.tokenizer, longest_seconds, rate, room, 1 / patch_seconds)
    spoken: list[Spoken] = []
    findings: list[Finding] = []
    with Shelf(folder) as shelf:
        for place, recording in enumerate(recordings):
            report("examining", place / len(recordings))
            text = as_read(normalise(recording.text), checkpoint.whole_sentences)
            speech = _heard(recording, rate)
            if isinstance(speech, Finding):
                findings.append(speech)
                continue
            found = checks.of_recording(recording, text, speech)
            findings += found
            if not any(finding.leaves_out for finding in found):
                shelf.put(speech.samples)
                spoken.append(Spoken(recording, text, replace(speech, samples=_ON_THE_SHELF)))
        rows = shelf.rows()
    used = [
        replace(item, speech=replace(item.speech, samples=samples))
        for item, samples in zip(spoken, rows, strict=True)
    ]
    return used, findings


def _heard(recording: Recording, rate: int) -> Speech | Finding:
    try:
        return prepare(*read_audio(recording.audio), rate)
    except RequestError as error:
        return Finding("unreadable", recording.audio.name, str(error))
    except ValueError as error:
        return Finding("silent", recording.audio.name, str(error))


def examine_together(spoken: Sequence[Spoken]) -> list[Finding]:
    """What all that can be used tells. Raises DatasetError where that is too little."""
    return of_all([item.speech for item in spoken], len({item.recording.speaker for item in spoken}))


def encode(spoken: Sequence[Spoken], checkpoint: Checkpoint, cache: Path, report: Report) -> Material:
    """Latents of all speech, from `cache` where they are there."""
    cache.mkdir(parents=True, exist_ok=True)
    latents = []
    for place, item in enumerate(spoken):
        report("encoding", place / len(spoken))
        latents.append(_latents(item.speech, checkpoint, cache))
    held_out = _held_out(spoken)
    counts = np.array([len(found) for found in latents])
    first = np.cumsum(counts) - counts
    speakers = sorted({item.recording.speaker for item in spoken})
    corpora = [
        _corpus([spoken[i] for i in chosen], speakers, first[chosen], counts[chosen], checkpoint)
        for chosen in (np.flatnonzero(~held_out), np.flatnonzero(held_out))
    ]
    texts = tuple(spoken[i].text for i in np.flatnonzero(held_out))
    seconds = sum(item.speech.seconds for item in spoken)
    heard = tuple((spoken[i], latents[i]) for i in np.flatnonzero(~held_out))
    return Material(torch.from_numpy(np.concatenate(latents)), *corpora, texts, seconds, heard)


@torch.inference_mode()
def _latents(speech: Speech, checkpoint: Checkpoint, cache: Path) -> np.ndarray:
    """float32 [n, P, D]: the speech, and a patch of silence by which its end is plain to hear."""
    config = checkpoint.config
    name = hashlib.sha256(f"{checkpoint.vae_digest} {speech.rate}".encode())
    name.update(speech.samples.tobytes())
    file = cache / f"{name.hexdigest()}.npy"
    if file.is_file():
        return np.load(file)
    patch_samples = config.patch_size * config.audio_vae_config.hop_length
    padding = -len(speech.samples) % patch_samples + patch_samples
    audio = upload(np.pad(speech.samples, (0, padding)), checkpoint.device)[None, None]
    found = checkpoint.vae.encode(audio)[0].unflatten(1, (-1, config.patch_size)).permute(1, 2, 0)
    patches = found.float().contiguous().cpu().numpy()
    with replacing(file) as partial, partial.open("wb") as written:
        np.save(written, patches)
    return patches


def _held_out(spoken: Sequence[Spoken]) -> np.ndarray:
    """Which are held out, bool [N], never all: the same ones in every run, by their words."""
    wanted = min(max(2, round(HELD_OUT_SHARE * len(spoken))), MOST_HELD_OUT, len(spoken) - 1)
    order = sorted(range(len(spoken)), key=lambda i: hashlib.sha256(spoken[i].text.encode()).digest())
    chosen = np.zeros(len(spoken), bool)
    chosen[order[:wanted]] = True
    return chosen


def _corpus(
    spoken: Sequence[Spoken],
    speakers: Sequence[str],
    first_patch: np.ndarray,
    num_patches: np.ndarray,
    checkpoint: Checkpoint,
) -> LatentCorpus:
    """speakers: of all recordings."""
    tokens = [np.array(checkpoint.tokenizer.encode(item.text), np.int64) for item in spoken]
    lengths = np.array([len(ids) for ids in tokens], np.int64)
    voices = tuple(DEFAULT_VOICE if len(speakers) == 1 else f"speaker {name}" for name in speakers)
    return LatentCorpus(
        first_patch=first_patch.astype(np.int64),
        num_patches=num_patches.astype(np.int64),
        first_token=np.cumsum(lengths) - lengths,
        num_tokens=lengths,
        voice=np.array([speakers.index(item.recording.speaker) for item in spoken], np.int64),
        is_sentence=np.ones(len(spoken), bool),
        tokens=np.concatenate(tokens),
        voices=voices,
    )
