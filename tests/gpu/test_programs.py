"""Steps recorded as CUDA graphs: the same speech as without them, as golden, and nobody disturbs another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.gpu.engines.ours import Ours, graphs_against_eager, relative, request
from benchmarks.gpu.work import Clip, clips
from models.speech import SpeechRequest
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions, VoxCPMEngine
from models.voxcpm.parity import load_golden
from tests.gpu.device import CUDA, DEVICE, LARGEST_BATCH, RECORDED, needs_gpu

pytestmark = needs_gpu
GOLDEN = Path(__file__).parent.parent / "parity"
OPTIONS = EngineOptions(
    max_num_seqs=LARGEST_BATCH,
    max_model_len=256 if CUDA else 64,
    silence_guard=False,
    ratio_cap=False,
    attention_backend="triton",
    graphs=RECORDED,
)


@contextmanager
def no_host_synchronisation() -> Iterator[None]:
    """Reading a tensor of the device, or copying to or from pageable memory, raises."""
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


def test_recorded_unrecorded_and_free_steps_agree_for_every_batch_size(tiny: Path) -> None:
    checkpoint = load_checkpoint(tiny, str(DEVICE), dtype=torch.bfloat16)
    sizes = list(range(1, LARGEST_BATCH + 1))
    worst = graphs_against_eager(checkpoint, OPTIONS, sizes, 8 if CUDA else 4)["worst"]
    assert worst["unrecorded_all_patches"] == 0 and worst["unrecorded_other_endings"] == 0, worst
    assert worst["free_other_endings"] == 0 and worst["free_second_patch"] < 0.05, worst


def test_prompts_in_batches_agree_recorded_unrecorded_and_free(tiny: Path) -> None:
    """Text and audio prompts of many lengths at once, more than one launch of each kind takes."""
    checkpoint = load_checkpoint(tiny, str(DEVICE), dtype=torch.float32)
    draw = np.random.default_rng(0)
    shape = (checkpoint.config.patch_size, checkpoint.config.feat_dim)
    references = [None, *draw.standard_normal((3, 20, *shape)).astype(np.float32)]
    count = LARGEST_BATCH if CUDA else 4
    spoken = {}
    for graphs in {RECORDED, "static", "off"}:
        ours = Ours(checkpoint, replace(OPTIONS, graphs=graphs))
        for i in range(count):
            reference = references[i % 4]
            ours.engine.add_request(
                SpeechRequest(
                    str(i), "hello world " * (1 + i % 5), seed=i, min_seconds=1.0, inference_timesteps=10,
                    reference_latents=None if reference is None else reference[: 3 + i % 17],
                    max_seconds=3 * ours.patch_seconds,
                )
            )  # fmt: skip
        outputs = [output for _ in iter(ours.busy, False) for output in ours.engine.step()]
        spoken[graphs] = {
            name: np.stack([output.latents for output in outputs if output.request_id == name])
            for name in map(str, range(count))
        }
    for name, latents in spoken[RECORDED].items():
        assert len(latents) == 3
        np.testing.assert_array_equal(latents, spoken["static"][name])
        assert relative(latents, spoken["off"][name]) < 1e-3, name


@pytest.mark.parametrize("name", ["tiny_v1", "tiny_v2"])
def test_programs_speak_the_golden_patches(name: str) -> None:
    checkpoint = load_checkpoint(GOLDEN / name, str(DEVICE), dtype=torch.float32)
    for golden in load_golden(GOLDEN / name / "golden"):
        noise = golden.tensors["noise"].transpose(1, 2).numpy()
        engine = VoxCPMEngine(checkpoint, OPTIONS, noise=lambda seed, i, *shape, noise=noise: noise[i])
        assert engine._runner._programs is not None
        engine.add_request(
            SpeechRequest(
                "golden",
                golden.spec["text"],
                seed=0,
                prompt_text=golden.prompt_text,
                prompt_latents=None if golden.prompt is None else golden.prompt.numpy(),
                reference_latents=None if golden.reference is None else golden.reference.numpy(),
                cfg_value=golden.spec["cfg_value"],
                inference_timesteps=golden.spec["inference_timesteps"],
                max_seconds=golden.num_patches * checkpoint.config.patch_seconds,
            )
        )
        outputs = []
        while engine.has_unfinished():
            outputs += engine.step()
        latents = np.stack([output.latents for output in outputs if output.audio.size])
        assert relative(latents, golden.patches.numpy()) < 1e-3, golden.name
        audio = np.concatenate([output.audio for output in outputs])
        # The decoder multiplies in TF32, and its random weights amplify errors some hundred times.
        assert relative(audio, golden.tensors["wav_full"][0].numpy()) < 5e-2, golden.name


def spoken(ours: Ours, work: list[Clip], apart: int) -> dict[str, np.ndarray]:
    """Latents of each clip, one joining every `apart` steps."""
    waiting = list(work)
    found: dict[str, list[np.ndarray]] = {clip.name: [] for clip in work}
    step = 0
    while waiting or ours.busy():
        if waiting and step % apart == 0:
            clip = waiting.pop(0)
            ours.engine.add_request(request(clip, ours.patch_seconds))
        step += 1
        for output in ours.engine.step():
            if output.audio.size:
                found[output.request_id].append(output.latents)
    return {name: np.stack(latents) for name, latents in found.items()}


def test_streams_that_come_and_go_do_not_touch_each_other(tiny: Path) -> None:
    checkpoint = load_checkpoint(tiny, str(DEVICE), dtype=torch.float32)
    ours = Ours(checkpoint, OPTIONS)
    work = clips("short", 7 if CUDA else 2, 6)
    alone = {name: latents for clip in work for name, latents in spoken(ours, [clip], 1).items()}
    together = spoken(ours, work, 2)
    for name, latents in alone.items():
        assert relative(together[name], latents) < 1e-3, name


@pytest.mark.skipif(not CUDA, reason="the CPU has nobody to wait for")
def test_a_steady_step_waits_for_its_results_alone(tiny: Path) -> None:
    ours = Ours(load_checkpoint(tiny, str(DEVICE), dtype=torch.bfloat16), OPTIONS)
    for clip in clips("short", 4, 12):
        ours.add(clip)
    for _ in range(8):
        ours.step()
    with no_host_synchronisation():
        patches = [len(ours.step()) for _ in range(3)]
    assert patches == [4, 4, 4]


def test_the_cache_is_sized_from_what_is_free(tiny: Path) -> None:
    checkpoint = load_checkpoint(tiny, str(DEVICE), dtype=torch.bfloat16)
    engine = VoxCPMEngine(checkpoint, EngineOptions(max_num_seqs=2, max_model_len=64, graphs="off"))
    assert engine._runner.num_blocks == 2 * 4
