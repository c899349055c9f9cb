"""Held-out sentences spoken by what was learnt so far, for people to hear."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import soundfile

from engine.device.devices import runs_triton, select_device
from engine.errors import EngineError
from models.voxcpm.api import VoxCPM
from models.voxcpm.finetuning.options import FinetuneOptions

logger = logging.getLogger(__name__)

SENTENCES, SEED = 3, 1


class Samples:
    """Speaks the same sentences with the same seed each time; the base is loaded once."""

    def __init__(self, options: FinetuneOptions, texts: tuple[str, ...]) -> None:
        self._options = options
        self._texts = sorted(texts, key=len)[-SENTENCES:]
        self._base: VoxCPM | None = None

    def speak(self, learnt: Path, folder: Path) -> int:
        """How many clips were written into `folder`; none where this device cannot speak with an adapter."""
        options = self._options
        if options.method == "full":
            with VoxCPM.from_pretrained(str(learnt), options.device, max_num_seqs=1) as voice:
                return self._write(voice, folder, None)
        if runs_triton(select_device(options.device)):
            return 0
        if self._base is None:
            self._base = VoxCPM.from_pretrained(options.base, options.device, max_num_seqs=1)
        self._base.load_lora(learnt, "learnt")
        return self._write(self._base, folder, "learnt")

    def close(self) -> None:
        if self._base is not None:
            self._base.close()

    def _write(self, voice: VoxCPM, folder: Path, lora: str | None) -> int:
        folder.mkdir(parents=True, exist_ok=True)
        written = 0
        for number, text in enumerate(self._texts, 1):
            try:
                clip = np.concatenate(list(voice.generate(text, lora=lora, seed=SEED)))
            except EngineError as error:  # a young adapter may make a model fall silent at once
                logger.warning("sample %d was not spoken: %s", number, error)
                continue
            soundfile.write(folder / f"{number}.wav", clip, voice.sample_rate)
            (folder / f"{number}.txt").write_text(text + "\n", encoding="utf-8")
            written += 1
        return written
