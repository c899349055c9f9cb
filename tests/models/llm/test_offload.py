"""Text models whose keys and values all live on the host write what they write without that."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
import torch

from engine.errors import RequestError
from engine.scheduling.batch import ScheduledSequence
from engine.sequence import Sequence
from models.llm import LLM, SamplingParams
from models.llm.token_step import TokenStep
from tests.text_models import random_model

BLOCK, SCHEDULES = 4, int(os.environ.get("OFFLOAD_SCHEDULES", "25"))
GREEDY = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(random_model(tmp_path_factory.mktemp("random")))


def loaded(model: str, **options: Any) -> LLM:
    return LLM(model, device="cpu", max_num_seqs=4, block_size=BLOCK, cpu_weights="float32", **options)


def prompt_of(length: int, seed: int = 0) -> list[int]:
    return [random.Random(seed).randrange(256) for _ in range(length)]


def last_logits(llm: LLM, prompt: list[int], chunk: int) -> torch.Tensor:
    """Of the last position, computed in chunks."""
    engine = llm._engine
    runner, sequence = engine._llm.runner, Sequence("one", prompt, 1)
    sequence.block_table = list(range(-(-len(prompt) // BLOCK)))
    with torch.inference_mode():
        for start in range(0, len(prompt), chunk):
            count = min(chunk, len(prompt) - start)
            found = runner.logits(TokenStep.of([ScheduledSequence(sequence, start, count)]))
        return found


@pytest.mark.parametrize("ring", [2, 3, 4, 7])
def test_logits_at_lengths_around_every_boundary_are_those_without_offload(model: str, ring: int) -> None:
    """Of blocks, of the ring, of chunks; one engine after the other in this process."""
    with (
        loaded(model, kv_blocks=32) as plain,
        loaded(model, kv_blocks=32, kv_offload=True, gpu_kv_blocks=ring) as offloaded,
    ):
        edges = {BLOCK, 2 * BLOCK, (ring - 1) * BLOCK, ring * BLOCK, 2 * (ring - 1) * BLOCK, 48}
        for length in sorted({edge + more for edge in edges for more in (-1, 0, 1)}):
            prompt = prompt_of(length)
            expected = last_logits(plain, prompt, length)
            for chunk in {length, 5, ring * BLOCK}:
                found = last_logits(offloaded, prompt, chunk)
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5 * expected.abs().max())


@pytest.mark.parametrize("ring", [2, 5])
def test_answers_are_those_without_offload_beside_each_other_and_with_little_room(
    model: str, ring: int
) -> None:
    """With shared prefixes, chunked prompts and preemptions, and an engine used twice."""
    common = prompt_of(9, seed=99)
    prompts = [[*common, *prompt_of(3 + 5 * number, number)] for number in range(6)]
    params = SamplingParams(temperature=0.7, seed=1, max_tokens=20, ignore_eos=True)
    with loaded(model) as plain:
        expected = plain.generate(prompts, params, use_tqdm=False)
    options = {"max_num_batched_tokens": 16, "max_prefill_tokens": 8, "kv_blocks": 18}
    with loaded(model, kv_offload=True, gpu_kv_blocks=ring, **options) as offloaded:
        assert offloaded.generate(prompts, params, use_tqdm=False) == expected
        assert offloaded.generate(prompts[::-1], params, use_tqdm=False) == expected[::-1]
        scheduler = offloaded._engine._llm.scheduler
        assert scheduler.num_preemptions > 0 and scheduler.figures.device_positions > 0


def test_random_schedules_give_what_the_plain_engine_gives(model: str) -> None:
    """Arrivals and cancellations at random."""
    with loaded(model) as plain:
        alone = {
            number: plain.generate([prompt_of(3 + 7 * number, number)], GREEDY, use_tqdm=False)[0][
                "token_ids"
            ]
            for number in range(6)
        }
    with loaded(model, kv_offload=True, gpu_kv_blocks=3, kv_blocks=24, max_prefill_tokens=6) as offloaded:
        for seed in range(SCHEDULES):
            for number, tokens in play(offloaded, random.Random(seed)).items():
                assert tokens == alone[number][: len(tokens)]


def play(llm: LLM, chance: random.Random) -> dict[int, list[int]]:
    """Tokens of some requests, by number; all but the cancelled ones to their end."""
    waiting, names, tokens = chance.sample(range(6), 5), {}, {}
    while waiting or not llm.is_finished():
        if waiting and chance.random() < 0.5:
            number = waiting.pop()
            names[llm.add_request(prompt_of(3 + 7 * number, number), GREEDY)] = number
            tokens[number] = []
        if names and chance.random() < 0.05:
            llm.cancel(chance.choice(list(names)))
        for output in llm.step():
            tokens[names[output.request_id]].append(output.token)
    return tokens


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"gpu_kv_blocks": 8}, "gpu_kv_blocks"),
        ({"kv_offload": True, "gpu_kv_blocks": 1}, "gpu_kv_blocks"),
        ({"kv_offload": True, "graphs": "static"}, "graphs"),
    ],
)
def test_what_does_not_go_together_is_refused(model: str, options: dict[str, Any], field: str) -> None:
    with pytest.raises(RequestError) as refused:
        loaded(model, **options)
    assert refused.value.param == field
