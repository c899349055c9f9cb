"""Audio is decoded beside the next steps; however far it is behind, nobody's speech changes by a bit."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.gpu.checkpoints import make_checkpoint
from benchmarks.gpu.engines.ours import Ours
from engine.device.staging import HostCopy
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import Checkpoint, load_checkpoint
from models.voxcpm.engine import EngineOptions
from models.voxcpm.programs.waveform_programs import PatchShape, WaveformPrograms
from tests.gpu.device import CUDA, DEVICE, RECORDED, needs_gpu

pytestmark = needs_gpu
BUSY_CYCLES = 20_000_000  # about a hundredth of a second
STREAMS, PLACES = (12, 4) if CUDA else (4, 2)
CANCELLED = "1"
OPTIONS = EngineOptions(
    max_num_seqs=PLACES,
    max_model_len=256 if CUDA else 96,
    silence_guard=False,
    ratio_cap=False,
    attention_backend="triton",
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    path = make_checkpoint("tiny", tmp_path_factory.mktemp("checkpoints"))
    return load_checkpoint(path, str(DEVICE), dtype=torch.bfloat16)


class Decodes:
    """Stands in for `WaveformPrograms.launch`: each decode is held back so long, or waited for."""

    def __init__(self, held_back_seconds: float) -> None:
        self.behind = 0
        """Decodes that were launched while one before them was not done."""
        self._cycles = cycles_in(held_back_seconds)
        self._launched_at: list[float] = []
        self._launch = WaveformPrograms.launch
        self._done: torch.cuda.Event | None = None

    @property
    def seconds_between(self) -> float:
        """Two launches, usually."""
        return statistics.median(later - earlier for earlier, later in pairwise(self._launched_at))

    def launch(self, programs: WaveformPrograms, shape: PatchShape, rows: int) -> HostCopy:
        self._launched_at.append(time.perf_counter())
        if not CUDA:
            return self._launch(programs, shape, rows)
        if self._done is not None:
            self.behind += not self._done.query()
        side = programs._streams.side
        if self._cycles:
            with side.on():
                torch.cuda._sleep(self._cycles)
        copy = self._launch(programs, shape, rows)
        with side.on():
            self._done = torch.cuda.current_stream(DEVICE).record_event()
        if not self._cycles:
            torch.cuda.synchronize(DEVICE)
        return copy


def cycles_in(seconds: float) -> int:
    """For `torch.cuda._sleep`."""
    if not CUDA or not seconds:
        return 0
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    stream = torch.cuda.current_stream(DEVICE)
    with torch.cuda.stream(stream):
        began.record(stream)
        torch.cuda._sleep(BUSY_CYCLES)
        ended.record(stream)
    ended.synchronize()
    return int(1000 * seconds * BUSY_CYCLES / began.elapsed_time(ended))


def clip(i: int, checkpoint: Checkpoint, patch_seconds: float) -> SpeechRequest:
    """Text alone, a reference, a prompt to go on from, or a number of solver steps that no program has."""
    shape = (checkpoint.config.patch_size, checkpoint.config.feat_dim)
    latents = np.random.default_rng(i).standard_normal((3 + i % 3, *shape)).astype(np.float32)
    seconds = (5 + i % 4) * patch_seconds
    kinds: tuple[dict[str, Any], ...] = (
        {},
        {"reference_latents": latents},
        {"prompt_text": "the thing.", "prompt_latents": latents},
        {"inference_timesteps": 4},
    )
    values = {"inference_timesteps": 10, "min_seconds": seconds, "max_seconds": seconds} | kinds[i % 4]
    return SpeechRequest(str(i), "hello world " * (1 + i % 3), seed=i, **values)


def spoken(checkpoint: Checkpoint, graphs: str) -> dict[str, list[np.ndarray]]:
    """Latents and audio of streams that come one after the other, more than there are places for."""
    ours = Ours(checkpoint, replace(OPTIONS, graphs=graphs))
    found: dict[str, list[np.ndarray]] = {}
    waiting = [clip(i, checkpoint, ours.patch_seconds) for i in range(STREAMS)]
    step = 0
    while waiting or ours.busy():
        if waiting and step % 2 == 0:
            ours.engine.add_request(waiting.pop(0))
        if step == 5:
            ours.engine.cancel(CANCELLED)
        step += 1
        for output in ours.engine.step():
            if output.audio.size:
                found.setdefault(output.request_id, []).extend((output.latents, output.audio))
    return found


@pytest.mark.parametrize("graphs", sorted({RECORDED, "static"}))
def test_decodes_that_are_behind_change_nothing(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch, graphs: str
) -> None:
    """Held back for twice the time between two launches: steps that are not recorded take the host that long
    to launch, so that a hundredth of a second was over before the next one."""
    decodes, heard = {}, {}
    for held_back in (False, True):
        seconds = 2 * decodes[False].seconds_between if held_back else 0.0
        decodes[held_back] = Decodes(seconds)
        launch = decodes[held_back].launch
        monkeypatch.setattr(
            WaveformPrograms, "launch", lambda self, *given, launch=launch: launch(self, *given)
        )
        heard[held_back] = spoken(checkpoint, graphs)
        monkeypatch.undo()
    if CUDA:
        assert decodes[True].behind > 0 and decodes[False].behind == 0
    assert len(heard[True]) >= STREAMS - 1
    assert len(heard[False]) == len(heard[True])
    for name, parts in heard[False].items():
        assert name == CANCELLED or len(parts) == 2 * (5 + int(name) % 4)
        for part, other in zip(parts, heard[True][name], strict=True):
            np.testing.assert_array_equal(part, other)
