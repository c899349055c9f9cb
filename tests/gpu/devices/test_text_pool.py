"""An `LLM` over two GPUs answers as one does, and goes on when one is killed."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
import torch

from models.llm import LLM, SamplingParams
from tests.gpu.device import CUDA, needs_gpu

pytestmark = [
    needs_gpu,
    pytest.mark.skipif(CUDA and torch.cuda.device_count() < 2, reason="needs two CUDA devices"),
]
checkpoints = pytest.importorskip(
    "tests.models.llm.checkpoints", exc_type=ImportError
)  # it needs transformers
DEVICES = ["cuda:0", "cuda:1"] if CUDA else ["cpu", "cpu"]
OPTIONS = {"max_num_seqs": 4, "max_model_len": 256}
GREEDY = SamplingParams(temperature=0, max_tokens=100, ignore_eos=True)


def test_two_gpus_answer_as_one_does_also_where_one_is_killed(tmp_path: Path) -> None:
    checkpoints.make_checkpoint(tmp_path, "untied")
    with LLM(tmp_path, device=DEVICES[0], **OPTIONS) as one:
        alone = [one.generate([[7, number]], GREEDY, use_tqdm=False)[0]["token_ids"] for number in range(2)]
    with LLM(tmp_path, devices=DEVICES, **OPTIONS) as pool:
        for first, second in ((0, 1), (1, 0)):
            answers = pool.generate([[7, first], [7, second]], GREEDY, use_tqdm=False)
            assert [answer["token_ids"] for answer in answers] == [alone[first], alone[second]]
        assert asyncio.run(answered_while_one_is_killed(pool)) == alone[0]
        assert pool.generate([[7, 1]], GREEDY, use_tqdm=False)[0]["token_ids"] == alone[1]


async def answered_while_one_is_killed(pool: LLM) -> list[int | None]:
    """The tokens of an answer whose device is killed at the first."""
    tokens = []
    async for output in pool.stream([7, 0], GREEDY):
        tokens.append(output.token)
        if len(tokens) == 1:
            os.kill(pool._engine._devices[0].process._process.pid, signal.SIGKILL)
    return tokens
