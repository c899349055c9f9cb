"""The number of threads changes no token of an answer, so it may change while an answer is written."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from models.llm import LLM, SamplingParams
from models.llm.engine import TextEngine, TextRequest

PROMPTS = [list(range(5, 60)), [7, 8, 9], list(range(200, 120, -1))]


def answers(engine: TextEngine, threads: list[int]) -> dict[str, list[tuple]]:
    """Tokens and log probabilities of answers whose steps take the numbers of threads in turns."""
    for number, prompt in enumerate(PROMPTS):
        params = SamplingParams(temperature=0.8, seed=number, max_tokens=24, ignore_eos=True, logprobs=3)
        engine.add_request(TextRequest(f"{number}", prompt, params))
    made: dict[str, list[tuple]] = {f"{number}": [] for number in range(len(PROMPTS))}
    numbers = cycle(threads)
    while engine.has_unfinished():
        engine.step_threads.choice.threads = next(numbers)
        for output in engine.step():
            made[output.request_id].append((output.token, output.logprob, output.top))
    return made


@pytest.mark.parametrize("weights", ["float32", "bfloat16"])
def test_an_answer_is_the_same_for_any_number_of_threads(checkpoint_directory: Path, weights: str) -> None:
    options = {"cpu_weights": weights, "threads": 4, "enable_prefix_caching": False}
    with LLM(str(checkpoint_directory), device="cpu", **options) as llm:
        alone = answers(llm._engine, [1])
        assert all(len(answer) == 24 for answer in alone.values())
        assert answers(llm._engine, [2]) == alone
        assert answers(llm._engine, [3, 1, 4, 2]) == alone
