"""Parts of a model give what the whole gives: logits, and tokens drawn from them. Ranks are threads here,
with the same groups as processes have.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from engine.attention import AttentionBatch
from engine.errors import RequestError, WeightError
from engine.parallel.group import Group
from engine.parallel.part import Part
from models.llm.checkpoint import TextCheckpoint, load_text_checkpoint, plan_network
from models.llm.logits import AnswerLogits
from models.llm.parallel.draw import draw, ways_of
from models.llm.runner import TextRunner
from models.llm.sampler import Answer, sample
from models.llm.sampling_params import SamplingParams
from models.llm.token_step import TokenStep
from tests.models.llm.checkpoints import VOCABULARY, make_checkpoint
from tests.models.llm.parallel.rank_threads import on_ranks

CPU = torch.device("cpu")
BLOCK = 16


def logits_of(checkpoint: TextCheckpoint, steps: list[TokenStep]) -> Tensor:
    runner = TextRunner(
        checkpoint.model, CPU, checkpoint.dtype, checkpoint.kv_dtype,
        num_blocks=16, block_size=BLOCK, max_model_len=128, part=checkpoint.part,
    )  # fmt: skip
    return torch.cat([runner.logits(step) for step in steps])


def some_steps() -> list[TokenStep]:
    """Two prompts in one step, one of them in parts, then a decode of both beside the rest of the first."""
    tokens = np.random.default_rng(3).integers(0, VOCABULARY, 80)
    tables = [[3, 1, 4], [5, 9]]
    first = TokenStep(AttentionBatch([0, 0], [20, 17], tables), tokens[:37], np.array([36]))
    second = TokenStep(AttentionBatch([17, 20], [1, 25], tables[::-1]), tokens[37:63], np.array([0, 25]))
    return [first, second]


@pytest.mark.parametrize(
    ("shape", "size"),
    [("tied", 2), ("tied", 4), ("untied", 2), ("many groups", 4), ("one head of keys", 2), ("no groups", 4)],
)
def test_logits_of_several_ranks_are_those_of_one(tmp_path: Path, shape: str, size: int) -> None:
    make_checkpoint(tmp_path, shape, shards=2)
    with torch.inference_mode():
        whole = logits_of(load_text_checkpoint(str(tmp_path), "cpu", cpu_weights="float32"), some_steps())

    def compute(group: Group) -> Tensor:
        part = Part(group.rank, group.size, group)
        checkpoint = load_text_checkpoint(str(tmp_path), "cpu", cpu_weights="float32", part=part)
        return logits_of(checkpoint, some_steps())

    parts = on_ranks(size, tmp_path, compute)
    assert [part.shape for part in parts] == [(3, VOCABULARY // size)] * size
    scale = whole.abs().max()
    assert (torch.cat(parts, 1) - whole).abs().max() <= 1e-5 * scale


def test_a_step_travels_as_one_array() -> None:
    for step in some_steps():
        found = TokenStep.unpack(step.pack())
        assert (found.batch, found.tokens.tolist()) == (step.batch, step.tokens.tolist())
        assert (found.ends.tolist(), found.positions.tolist()) == (
            step.ends.tolist(),
            step.positions.tolist(),
        )


RULES: list[dict] = [
    {"temperature": 0},
    {"temperature": 0.7},
    {"temperature": 1.5, "seed": 5},
    {"temperature": 1.0, "top_k": 5},
    {"temperature": 0.9, "top_p": 0.6, "min_p": 0.01},
    {"temperature": 0, "logit_bias": {7: 30.0}},
    {"temperature": 1.0, "repetition_penalty": 1.4},
    {"temperature": 0, "logprobs": 4},
    {"temperature": 0, "min_tokens": 3, "max_tokens": 9, "stop_token_ids": (0, 1, 2)},
]


@pytest.mark.parametrize("size", [2, 4])
def test_tokens_drawn_from_parts_are_those_drawn_from_the_whole(tmp_path: Path, size: int) -> None:
    generator = torch.Generator().manual_seed(1)
    for index in range(6):
        answers = []
        for number, rules in enumerate(RULES):
            params = SamplingParams(**{"seed": number, **rules})
            rules_of = AnswerLogits(params, [1, 2, 3], params.stop_token_ids, VOCABULARY)
            answers.append(Answer(params, params.seed or 0, rules_of, index))
        logits = 4 * torch.randn(len(RULES), VOCABULARY, generator=generator)
        expected, ways = sample(logits, answers), ways_of(answers)

        def compute(group: Group, logits: Tensor = logits, ways: np.ndarray = ways) -> tuple:
            return draw(logits.chunk(group.size, 1)[group.rank], ways, group)

        found = on_ranks(size, tmp_path, compute)
        gathered = found[0][1]
        assert gathered is not None and all(rest is None for _, rest in found[1:])
        drawn = iter(found[0][0].tolist())
        told = iter(sample(gathered, [a for a, way in zip(answers, ways, strict=True) if way[0]]))
        assert [next(told).token if way[0] else next(drawn) for way in ways] == [s.token for s in expected]
        assert all(torch.equal(tokens, found[0][0]) for tokens, _ in found)
    assert [bool(way[0]) for way in ways] == [False, False, False] + [True] * 6


def test_what_is_equally_likely_is_drawn_as_for_one_rank(tmp_path: Path) -> None:
    answers = [Answer(SamplingParams(temperature=0), 0, AnswerLogits(SamplingParams(), [], [], 8))]
    logits = torch.tensor([[0.0, 1.0, 2.0, 2.0, 1.0, 2.0, 0.0, 2.0]])
    found = on_ranks(
        4, tmp_path, lambda group: draw(logits.chunk(4, 1)[group.rank], ways_of(answers), group)[0]
    )
    assert found[0].tolist() == [2] == [s.token for s in sample(logits, answers)]


def test_a_model_that_cannot_be_divided_is_refused_by_name(checkpoint_directory: Path) -> None:
    with pytest.raises(
        RequestError, match="tensor_parallel_size 3: this model has a num_attention_heads of 4"
    ):
        plan_network(checkpoint_directory, Part(0, 3))


def test_a_part_of_a_checkpoint_of_another_size_is_refused(tmp_path: Path) -> None:
    make_checkpoint(tmp_path)
    config = tmp_path / "config.json"
    config.write_text(config.read_text().replace('"vocab_size": 300', '"vocab_size": 304'))
    with pytest.raises(WeightError, match=r"model.embed_tokens.weight is \[300, 64\], expected \[304, 64\]"):
        load_text_checkpoint(str(tmp_path), "cpu", part=Part(0, 2))
