"""`LLM(tensor_parallel_size=N)`: the answers of one rank, by processes that leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError, RequestError
from models.llm import LLM, SamplingParams
from tests.engine.parallel.processes import is_running

PARAMS = [
    SamplingParams(temperature=0, max_tokens=24, ignore_eos=True),
    SamplingParams(temperature=0.8, max_tokens=24, ignore_eos=True, seed=7),
    SamplingParams(temperature=0.9, top_p=0.7, max_tokens=16, ignore_eos=True, seed=8, logprobs=2),
    SamplingParams(temperature=0, repetition_penalty=1.3, max_tokens=16, ignore_eos=True),
]
PROMPTS = ["once upon a time", [5, 6, 7], "x" * 70, "the end"]


def make(directory: Path, size: int, **options: Any) -> LLM:
    options = {"max_num_seqs": 4, "block_size": 16, "kv_blocks": 24, "cpu_weights": "float32", **options}
    return LLM(str(directory), size, device="cpu", **options)


def pids_of(llm: LLM) -> list[int]:
    return [process.pid for process in llm._engine.checkpoint.ranks._processes]


@pytest.fixture(scope="module")
def several(checkpoint_directory: Path) -> Iterator[dict[int, LLM]]:
    """Two engines of several ranks in one process."""
    with make(checkpoint_directory, 2) as two, make(checkpoint_directory, 4) as four:
        yield {2: two, 4: four}


def ids(answers: list[Any]) -> list[list[int]]:
    return [answer["token_ids"] for answer in answers]


def test_engines_of_2_and_4_ranks_in_one_process_answer_as_one_rank(
    checkpoint_directory: Path, several: dict[int, LLM]
) -> None:
    with make(checkpoint_directory, 1) as one:
        expected = one.generate(PROMPTS, PARAMS, use_tqdm=False)
    for size, llm in several.items():
        found = llm.generate(PROMPTS, PARAMS, use_tqdm=False)
        assert ids(found) == ids(expected), size
        for (own, top), (wanted, wanted_top) in zip(
            found[2]["logprobs"], expected[2]["logprobs"], strict=True
        ):
            assert own == pytest.approx(wanted, abs=1e-4)
            assert [token for token, _ in top] == [token for token, _ in wanted_top]
    by_steps: dict[int, list[int]] = {}
    for size, llm in several.items():
        llm.add_request(PROMPTS[0], PARAMS[0])
        by_steps[size] = []
    while not all(llm.is_finished() for llm in several.values()):  # a step here, a step there
        for size, llm in several.items():
            by_steps[size] += [output.token for output in llm.step() if output.token is not None]
    assert all(tokens == expected[0]["token_ids"] for tokens in by_steps.values())


def test_the_ranks_of_a_model_that_nobody_holds_end(checkpoint_directory: Path) -> None:
    llm = make(checkpoint_directory, 2)
    (process,) = llm._engine.checkpoint.ranks._processes
    del llm
    assert process.wait(60) == 0


def test_a_preempted_answer_is_the_same(checkpoint_directory: Path, several: dict[int, LLM]) -> None:
    params = SamplingParams(temperature=0, max_tokens=110, ignore_eos=True)
    prompts: list[Any] = [[1 + n, 2, 3] for n in range(4)]
    with make(checkpoint_directory, 1, kv_blocks=64) as one:
        expected = ids(one.generate(prompts, params, use_tqdm=False))
    scheduler = several[2]._engine._llm.scheduler
    before = scheduler.num_preemptions
    assert ids(several[2].generate(prompts, params, use_tqdm=False)) == expected
    assert scheduler.num_preemptions > before


def test_a_killed_rank_ends_streams_with_its_reason_and_leaves_no_process(checkpoint_directory: Path) -> None:
    llm = make(checkpoint_directory, 2)
    try:
        pids = pids_of(llm)

        async def listen() -> None:
            params = SamplingParams(temperature=0, max_tokens=400, ignore_eos=True)
            async for output in llm.stream([1, 2, 3], params):
                assert output.finish_reason is None
                if is_running(pids[0]):
                    os.kill(pids[0], signal.SIGKILL)

        with pytest.raises(EngineError, match="rank 1 died, signal 9"):
            asyncio.run(listen())
        with pytest.raises(EngineError, match="rank 1 died, signal 9"):
            asyncio.run(listen())
    finally:
        llm.close()
    assert not any(map(is_running, pids))


def test_a_stopped_rank_ends_generate_and_another_engine_goes_on(
    checkpoint_directory: Path, several: dict[int, LLM]
) -> None:
    with make(checkpoint_directory, 2) as llm:
        os.kill(pids_of(llm)[0], signal.SIGSTOP)
        with pytest.raises(EngineError, match="rank 1 "):
            llm.generate(PROMPTS, PARAMS, use_tqdm=False)
        assert not any(map(is_running, pids_of(llm)))
    assert ids(several[4].generate(PROMPTS[:1], PARAMS[0], use_tqdm=False))


@pytest.mark.parametrize(
    ("size", "problem"),
    [(0, "between 1 and 64"), (3, "num_attention_heads of 4"), (8, "is no multiple of it")],
)
def test_a_size_that_cannot_be_had_is_refused_before_anything_starts(
    checkpoint_directory: Path, size: int, problem: str
) -> None:
    with pytest.raises(RequestError, match=problem) as error:
        make(checkpoint_directory, size)
    assert error.value.param == "tensor_parallel_size"


@pytest.mark.parametrize(
    ("name", "value"), [("kv_host_gib", 1.0), ("kv_host_gib", None), ("kv_offload", True)]
)
def test_what_several_ranks_do_not_do_is_refused_by_name(
    checkpoint_directory: Path, name: str, value: object
) -> None:
    with pytest.raises(RequestError, match=f"{name} .* needs a tensor_parallel_size of 1") as error:
        make(checkpoint_directory, 2, **{name: value})
    assert error.value.param == name


def test_a_checkpoint_that_a_rank_cannot_read_ends_all(checkpoint_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((checkpoint_directory / "config.json").read_text())
    with pytest.raises(EngineError, match="no checkpoint 'model'"):
        make(tmp_path, 2)
