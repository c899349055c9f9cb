"""Qwen3 computes what `transformers` does: logits, greedy answers, however they are scheduled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import Qwen3ForCausalLM

from models.llm import LLM, SamplingParams
from models.llm.engine import TextEngine
from tests.models.llm.checkpoints import SHAPES, VOCABULARY, make_checkpoint

PROMPTS = [list(range(5, 60)), [7, 8, 9], list(range(200, 120, -1))]
GREEDY = SamplingParams(temperature=0, max_tokens=256, ignore_eos=True, logprobs=5)


def expected_answer(network: Qwen3ForCausalLM, prompt: list[int], count: int) -> list[int]:
    """Greedy by transformers, without its generation loop, whose defaults change with versions."""
    answer, cache, tokens = [], None, torch.tensor([prompt])
    with torch.inference_mode():
        for _ in range(count):
            out = network(tokens, past_key_values=cache, use_cache=True)
            cache, token = out.past_key_values, int(out.logits[0, -1].argmax())
            answer.append(token)
            tokens = torch.tensor([[token]])
    return answer


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_and_greedy_answers_are_those_of_transformers(tmp_path: Path, shape: str) -> None:
    network = make_checkpoint(tmp_path, shape, shards=3 if shape == "untied" else 1)
    with LLM(str(tmp_path), device="cpu") as llm:
        answers = llm.generate(PROMPTS, GREEDY, use_tqdm=False)
    for prompt, answer in zip(PROMPTS, answers, strict=True):
        assert answer["token_ids"] == expected_answer(network, prompt, 256)
        whole = torch.tensor([prompt + answer["token_ids"][:-1]])
        with torch.inference_mode():
            told = network(whole).logits[0, len(prompt) - 1 :].log_softmax(-1)
        for row, (logprob, top) in zip(told, answer["logprobs"], strict=True):
            assert abs(logprob - row.max().item()) < 1e-4
            assert torch.allclose(torch.tensor([value for _, value in top]), row.topk(5).values, atol=1e-4)


SCHEDULES = {
    "chunks of a prompt": {"max_num_batched_tokens": 16, "max_num_seqs": 3},
    "too few blocks, so answers are preempted": {
        "kv_blocks": 20,
        "block_size": 16,
        "max_model_len": 300,
        "max_num_seqs": 3,
    },
    "no shared prefixes": {"enable_prefix_caching": False},
    "small blocks": {"block_size": 16},
}


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("mixture")
    make_checkpoint(directory, "mixture")
    return directory


@pytest.mark.parametrize("checkpoint", ["checkpoint_directory", "mixture"])
@pytest.mark.parametrize("options", SCHEDULES.values(), ids=SCHEDULES)
def test_answers_do_not_depend_on_how_they_are_scheduled(
    request: pytest.FixtureRequest, checkpoint: str, options: dict
) -> None:
    directory = str(request.getfixturevalue(checkpoint))
    params = [
        SamplingParams(temperature=0, max_tokens=120, ignore_eos=True),
        SamplingParams(temperature=0.8, top_k=20, seed=3, max_tokens=120, ignore_eos=True),
        SamplingParams(temperature=1.0, top_p=0.9, repetition_penalty=1.2, seed=4, max_tokens=120),
    ]
    with LLM(directory, device="cpu") as plain:
        alone = [plain.generate([p], q, use_tqdm=False)[0] for p, q in zip(PROMPTS, params, strict=True)]
    with LLM(directory, device="cpu", **options) as llm:
        assert llm.generate(PROMPTS, params, use_tqdm=False) == alone
        # The second time their prompts are in the cache, where one is kept.
        assert llm.generate(PROMPTS, params, use_tqdm=False) == alone
        engine: TextEngine = llm._engine
        if "kv_blocks" in options:
            assert engine._llm.scheduler.num_preemptions > 0


def test_an_answer_goes_on_from_tokens_made_elsewhere(llm: LLM) -> None:
    from models.llm.engine import TextRequest

    params = SamplingParams(seed=11, max_tokens=40, presence_penalty=0.5, ignore_eos=True)
    whole = llm.generate([PROMPTS[0]], params, use_tqdm=False)[0]["token_ids"]
    engine = llm._engine
    engine.add_request(TextRequest("rest", PROMPTS[0], params, resume_ids=whole[:15]))
    rest: list[int] = []
    while engine.has_unfinished():
        rest += [output.token for output in engine.step()]
    assert rest == whole[15:]


def test_yarn_lengthens_texts_where_the_file_says_no_more(tmp_path: Path) -> None:
    make_checkpoint(tmp_path, "yarn")
    path, prompt = tmp_path / "config.json", [list(range(5, 205))]
    with LLM(str(tmp_path), device="cpu") as llm:
        expected = llm.generate(prompt, GREEDY, use_tqdm=False)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"max_position_embeddings": 160}))
    with LLM(str(tmp_path), device="cpu") as llm:
        assert llm.generate(prompt, GREEDY, use_tqdm=False) == expected


def test_token_ids_beyond_the_vocabulary_are_refused(llm: LLM) -> None:
    with pytest.raises(ValueError, match=f"prompt has token {VOCABULARY}"):
        llm.generate([[1, VOCABULARY]], use_tqdm=False)
