"""Models over two GPUs: the answers and the speech of one, sums of both ways, and a rank that is killed."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.gpu.checkpoints import make_checkpoint
from engine.errors import EngineError
from engine.parallel.group import Group
from engine.parallel.meeting import lead
from engine.parallel.ranks import Ranks
from models.llm import LLM, SamplingParams
from models.speech import SpeechRequest
from models.voxcpm import VoxCPM
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.loading import load_engine
from tests.gpu.device import CUDA, RECORDED, needs_gpu, needs_packages
from tests.gpu.devices import sums_rank

pytestmark = [
    needs_gpu,
    pytest.mark.skipif(CUDA and torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
checkpoints = pytest.importorskip("tests.models.llm.checkpoints", exc_type=ImportError)
FIRST = "cuda:0" if CUDA else "cpu"
DEVICES = [torch.device(name) for name in (("cuda:0", "cuda:1") if CUDA else ("cpu", "cpu"))]
PROMPTS: list[Any] = [[(7 * n + 3 * i) % 300 for i in range(1 + 9 * n)] for n in range(8)]
LONG_PROMPTS: list[Any] = [
    [(5 * n + 11 * i) % 300 for i in range(length)] for n, length in enumerate((2100, 2500))
]
"""Whose sums are under way beside what is computed next, `models.transformer.overlapped`."""
BF16_ERROR = 2.0**-8
"""Of a sum of two numbers below 1."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkpoints")
    checkpoints.make_checkpoint(directory, "untied")
    config = directory / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"max_position_embeddings": 4096}))
    return directory


def make(directory: Path, size: int, **options: Any) -> LLM:
    options = {"max_num_seqs": 8, "max_model_len": 256, "cpu_weights": "float32", **options}
    return LLM(str(directory), size, device=FIRST, **options)


@contextmanager
def meeting() -> Iterator[tuple[Ranks, Group]]:
    """Rank 0's side of two ranks of `sums_rank`."""
    ranks = Ranks(sums_rank.__name__, 2)
    try:
        group = lead(ranks, [{"device": str(DEVICES[1])}], DEVICES[0])
        try:
            yield ranks, group
        finally:
            ranks.close()
            group.close()
    finally:
        ranks.close()


def test_sums_are_exact_to_the_last_bits_of_bf16_of_every_size() -> None:
    with meeting() as (ranks, group):
        own = sums_rank.summed(group, DEVICES[0])
        (other,) = ranks.answers()
    assert max(own + other) <= BF16_ERROR


@pytest.mark.parametrize("prompts", [PROMPTS, LONG_PROMPTS], ids=["short", "long"])
def test_logprobs_of_two_gpus_are_as_near_as_those_of_one(tiny: Path, prompts: list[Any]) -> None:
    network = checkpoints.Qwen3ForCausalLM.from_pretrained(tiny, dtype=torch.float32).eval()
    params = SamplingParams(temperature=0, max_tokens=1, ignore_eos=True, logprobs=20)
    errors = []
    for size in (1, 2):
        total = count = 0.0
        with make(tiny, size, max_model_len=2600) as llm, torch.inference_mode():
            for prompt, answer in zip(prompts, llm.generate(prompts, params, use_tqdm=False), strict=True):
                exact = network(torch.tensor([prompt])).logits[0, -1].log_softmax(-1)
                _, top = answer["logprobs"][0]
                total += sum((value - exact[token].item()) ** 2 for token, value in top)
                count += len(top)
        errors.append((total / count) ** 0.5)
    assert errors[1] <= 2 * errors[0] + 1e-5


def test_a_rank_that_is_killed_ends_the_engine_while_gpus_wait_for_it(tiny: Path) -> None:
    with make(tiny, 2) as llm:
        llm.add_request([1, 2, 3], SamplingParams(temperature=0, max_tokens=200, ignore_eos=True))
        llm.step()
        os.kill(llm._engine.checkpoint.ranks._processes[0].pid, signal.SIGKILL)
        with pytest.raises(EngineError, match="rank 1"):
            while not llm.is_finished():
                llm.step()


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("tiny", tmp_path_factory.mktemp("voices"))


def load_voice(directory: Path, size: int, device: str = FIRST, **options: Any) -> VoxCPMEngine:
    sizes = {
        "max_num_seqs": 8 if CUDA else 2,
        "max_model_len": 64,
        "silence_guard": False,
        "ratio_cap": False,
    }
    return load_engine(str(directory), device, tensor_parallel_size=size, **{**sizes, **options})


def next_patches(engine: VoxCPMEngine) -> np.ndarray:
    """One patch after each of many texts, and after patches that are given: [N, P, D]. Half are guided."""
    shape = (engine.config.patch_size, engine.config.feat_dim)
    known = np.random.default_rng(1).standard_normal((3, *shape)).astype(np.float32)
    for index in range(48 if CUDA else 4):
        count = 3 if index % 2 else 0
        engine.add_request(
            SpeechRequest(
                f"{index:02}", "hello world " * (1 + index % 4), seed=index, cfg_value=1.0 + index % 3,
                inference_timesteps=10, resume_latents=known if count else None, min_seconds=1.0,
                max_seconds=(count + 1) * engine.config.patch_seconds,
            )
        )  # fmt: skip
    outputs = [output for _ in iter(engine.has_unfinished, False) for output in engine.step()]
    made = {output.request_id: output.latents for output in outputs if output.latents.size}
    return np.stack([made[name] for name in sorted(made)])


@pytest.mark.timeout(120 if CUDA else 400)
def test_patches_of_two_gpus_are_as_near_as_those_of_one(voice: Path) -> None:
    exact, errors = next_patches(load_voice(voice, 1, "cpu")), []
    for size in (1, 2):
        engine = load_voice(voice, size, graphs=RECORDED, attention_backend="triton")
        try:
            assert engine._runner._programs is not None
            found = next_patches(engine)
        finally:
            engine.close()
        assert found.shape == exact.shape
        errors.append(np.sqrt(np.square(found - exact).mean() / np.square(exact).mean()))
    assert errors[1] <= 2 * errors[0] + 1e-5, errors


@needs_packages("the recording of a voice", "av", "soundfile", "soxr")
def test_a_voice_speaks_over_two_gpus_until_a_rank_is_killed() -> None:
    graphs = "auto" if CUDA else "off"
    with VoxCPM.from_pretrained("bundled", FIRST, tensor_parallel_size=2, graphs=graphs) as voice:
        assert (voice._engine._runner._programs is not None) == CUDA
        stream = voice.generate("Good morning, everybody.", seed=3)
        samples = np.concatenate(list(stream))
        assert stream.finish_reason == "stop" and 0.5 < len(samples) / voice.sample_rate < 8.0
        assert np.isfinite(samples).all() and np.abs(samples).max() > 0.05
        (process,) = voice._engine.checkpoint.ranks._processes
        with pytest.raises(EngineError, match="rank 1"):
            for _ in voice.generate("hello " * 20, seed=4, min_seconds=60.0):
                os.kill(process.pid, signal.SIGKILL)
        assert process.poll() is not None
