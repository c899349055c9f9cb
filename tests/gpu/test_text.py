"""Text models: what transformers computes, the same recorded, unrecorded and free, and as a CPU draws it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.attention.selection import BACKENDS, BLOCK_SIZES, build_backend
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.llm import SamplingParams
from models.llm.checkpoint import TextCheckpoint, load_text_checkpoint
from models.llm.engine import TextEngine, TextRequest
from models.llm.options import TextOptions
from models.llm.sampling_params import SamplingParams as Params
from models.llm.token_step import TokenStep
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu
checkpoints = pytest.importorskip(
    "tests.models.llm.checkpoints", exc_type=ImportError
)  # it needs transformers
STREAMS = 17 if CUDA else 2
TOKENS = 24 if CUDA else 3
OPTIONS = TextOptions(
    max_num_seqs=STREAMS,
    block_size=16,
    max_model_len=256 if CUDA else 32,
    kv_blocks=16 * STREAMS,
    attention_backend="triton",
    graphs="auto" if CUDA else "static",
)
ALWAYS = OPTIONS.attention_backend
"""The back end that every machine with a GPU has."""
MANY: list[Params] = [
    SamplingParams(temperature=0),
    SamplingParams(temperature=0.8, seed=1),
    SamplingParams(temperature=0.9, seed=2, top_k=7),
    SamplingParams(temperature=1.1, seed=3, top_p=0.6, repetition_penalty=1.3),
    SamplingParams(temperature=1.1, seed=4, min_p=0.1, presence_penalty=0.5, frequency_penalty=1.0),
    SamplingParams(
        temperature=1.0, seed=5, logit_bias={5: 5.0, 7: 4.5}, bad_words=((5,), (7, 7)), logprobs=3
    ),
]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("checkpoints")
    checkpoints.make_checkpoint(directory, "untied")
    return directory


def prompt(number: int) -> list[int]:
    return [(7 * number + 3 * i) % checkpoints.VOCABULARY for i in range(1 + 5 * number % 23)]


def answers(checkpoint: TextCheckpoint, options: TextOptions, params: list[Params]) -> list[list[int]]:
    engine = TextEngine(checkpoint, options)
    try:
        found: list[list[int]] = [[] for _ in params]
        for number, param in enumerate(params):
            asked = replace(param, max_tokens=TOKENS, ignore_eos=True)
            engine.add_request(TextRequest(str(number), prompt(number), asked))
        while engine.has_unfinished():
            for output in engine.step():
                assert output.error is None
                found[int(output.request_id)].append(output.token)
        return found
    finally:
        engine.close()


@pytest.mark.parametrize("streams", sorted({1, 2, 3, 5, 8, STREAMS}) if CUDA else [2])
def test_recorded_and_unrecorded_steps_draw_the_same(tiny: Path, streams: int) -> None:
    checkpoint = load_text_checkpoint(str(tiny), str(DEVICE), torch.bfloat16)
    params = [MANY[i % len(MANY)] for i in range(streams)]
    recorded = answers(checkpoint, OPTIONS, params)
    assert recorded == answers(checkpoint, replace(OPTIONS, graphs="static"), params)
    assert all(len(answer) == TOKENS for answer in recorded)


@pytest.mark.parametrize("name", BACKENDS)
def test_every_back_end_serves_recorded_steps(tiny: Path, name: str) -> None:
    block_size = BLOCK_SIZES.get(name, OPTIONS.block_size)
    found = build_backend(name, DEVICE, torch.bfloat16, checkpoints.HEAD_DIM, block_size)
    if isinstance(found, str) or not found.capturable:
        assert name != ALWAYS, found
        pytest.skip(f"{name}: {found if isinstance(found, str) else 'its steps cannot be recorded'}")
    blocks = -(-OPTIONS.max_model_len // block_size) * STREAMS
    options = replace(OPTIONS, attention_backend=name, block_size=block_size, kv_blocks=blocks)
    params = [MANY[i % len(MANY)] for i in range(STREAMS)]
    checkpoint = load_text_checkpoint(str(tiny), str(DEVICE), torch.bfloat16)
    recorded = answers(checkpoint, options, params)
    assert recorded == answers(checkpoint, replace(options, graphs="static"), params)
    freely = answers(checkpoint, replace(options, graphs="off"), params)
    same = sum(a[0] == b[0] for a, b in zip(recorded, freely, strict=True))
    assert same > 0.7 * STREAMS  # in bf16 a near tie may be decided otherwise


def test_a_device_draws_what_a_cpu_draws(tiny: Path) -> None:
    params = MANY if CUDA else MANY[:2]
    expected = answers(load_text_checkpoint(str(tiny), "cpu", torch.float32), OPTIONS_OFF, params)
    checkpoint = load_text_checkpoint(str(tiny), str(DEVICE), torch.float32)
    options = replace(OPTIONS, max_num_seqs=len(params))  # fewer kernels in fp32 than for all streams
    assert answers(checkpoint, options, params) == expected
    assert answers(checkpoint, replace(options, graphs="off"), params) == expected


OPTIONS_OFF = replace(OPTIONS, graphs="off", attention_backend="sdpa")


@pytest.mark.parametrize("name", BACKENDS)
def test_logits_are_as_near_as_those_of_transformers(tiny: Path, name: str) -> None:
    block_size = BLOCK_SIZES.get(name, OPTIONS.block_size)
    found = build_backend(name, DEVICE, torch.bfloat16, checkpoints.HEAD_DIM, block_size)
    if isinstance(found, str):
        assert name != ALWAYS, found
        pytest.skip(f"{name}: {found}")
    network = checkpoints.make_checkpoint(tiny, "untied")
    tokens = [i % checkpoints.VOCABULARY for i in range(3, 200 if CUDA else 20)]
    with torch.inference_mode():
        exact = network(torch.tensor([tokens])).logits[0]
        theirs = network.to(DEVICE, torch.bfloat16)(torch.tensor([tokens], device=DEVICE)).logits[0]
        checkpoint = load_text_checkpoint(str(tiny), str(DEVICE), torch.bfloat16)
        whole = logits(checkpoint, tokens, name)
        second = logits(checkpoint, tokens, name, cut=len(tokens) // 2)
    assert error(whole, exact) <= 2 * error(theirs, exact)
    exact, theirs = exact[-len(second) :], theirs[-len(second) :]
    assert error(second, exact) <= 2 * error(theirs, exact)


def logits(checkpoint: TextCheckpoint, tokens: list[int], attention: str, cut: int = 0) -> torch.Tensor:
    """Of every position from `cut` on, which a second prefill computes where there is one."""
    size = BLOCK_SIZES.get(attention, OPTIONS.block_size)
    blocks = -(-len(tokens) // size)
    options = TextOptions(1, kv_blocks=blocks, block_size=size, attention_backend=attention, graphs="off")
    engine = TextEngine(checkpoint, options)
    sequence = Sequence("a", tokens, 1)
    sequence.block_table = list(range(blocks))
    if cut:
        engine._llm.runner.logits(TokenStep.of([ScheduledSequence(sequence, 0, cut)]))
    step = TokenStep.of([ScheduledSequence(sequence, cut, len(tokens) - cut)])
    return engine._llm.runner.logits(replace(step, ends=np.arange(len(tokens) - cut)))


def error(found: torch.Tensor, exact: torch.Tensor) -> float:
    return ((found.float().cpu() - exact).norm() / exact.norm()).item()
