"""`LLM` as scripts use it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError, OptionsError, RequestError
from engine.kv_cache.blocks import Blocks
from engine.model_runner import StepResult
from engine.scheduling.batch import ScheduledSequence
from models.config_fields import ConfigError
from models.llm import LLM, SamplingParams
from models.llm.api import Completion
from models.llm.engine import TextRequest
from models.llm.options import TextOptions
from tests.models.llm.checkpoints import VOCABULARY
from tests.text_models import random_model

SCRIPT = """
from models.llm import LLM, SamplingParams

llm = LLM({path!r}, enforce_eager=True, tensor_parallel_size=1, max_model_len=256)
params = SamplingParams(temperature=0.6, max_tokens=12)
outputs = llm.generate(["introduce yourself", "list all prime numbers within 100"], params)
for prompt, output in zip(range(2), outputs):
    found.append((output["text"], output["token_ids"]))
llm.close()
"""


def test_a_script_for_nano_vllm_runs_with_its_import_changed(checkpoint_directory: Path) -> None:
    found: list[tuple[str, list[int]]] = []
    exec(SCRIPT.format(path=str(checkpoint_directory)), {"found": found})
    assert len(found) == 2
    assert all(0 < len(ids) <= 12 for _, ids in found)


def test_answers_come_in_the_order_of_the_prompts_each_by_its_params(llm: LLM) -> None:
    params = [SamplingParams(temperature=0, max_tokens=n, ignore_eos=True) for n in (9, 1, 5)]
    answers = llm.generate(["one", "two", "three"], params, use_tqdm=False)
    assert [len(answer["token_ids"]) for answer in answers] == [9, 1, 5]
    assert {answer["finish_reason"] for answer in answers} == {"length"}
    again = llm.generate(["two", "three", "one"], [params[1], params[2], params[0]], use_tqdm=False)
    assert again == [answers[1], answers[2], answers[0]]


def test_stop_tokens_and_stop_strings_end_an_answer(llm: LLM) -> None:
    letters = dict.fromkeys(range(94), 50.0)  # printable ASCII

    def answer(**more: Any) -> Completion:
        params = SamplingParams(seed=1, max_tokens=20, ignore_eos=True, logit_bias=letters, **more)
        return llm.generate(["abc"], params, use_tqdm=False)[0]

    free = answer()
    ids, text = free["token_ids"], free["text"]
    assert text == llm.tokenizer.decode(ids)
    token = next(token for i, token in enumerate(ids) if i > 3 and token not in ids[:i])
    at = ids.index(token)
    ended = answer(stop_token_ids=(token,))
    assert ended["token_ids"] == ids[: at + 1]
    assert (ended["finish_reason"], ended["text"]) == ("stop", text[:at])
    assert len(answer(stop_token_ids=(token,), min_tokens=at + 1)["token_ids"]) > at + 1
    stopped = answer(stop=text[10:12])
    assert (stopped["finish_reason"], stopped["text"]) == ("stop", text[: text.index(text[10:12])])
    assert len(stopped["token_ids"]) == text.index(text[10:12]) + 2
    assert answer(stop=text[2:4], min_tokens=4)["text"] == text[:2]
    late = answer(stop=text[2:4], min_tokens=5)
    assert late["text"].startswith(text[:4]) and len(late["token_ids"]) >= 5


def test_requests_one_by_one(llm: LLM) -> None:
    first = llm.add_request("hello", SamplingParams(max_tokens=3, ignore_eos=True))
    second = llm.add_request("hello", SamplingParams(max_tokens=50, ignore_eos=True))
    outputs = []
    while not llm.is_finished():
        outputs += llm.step()
        if any(output.finish_reason for output in outputs) and llm.cancel(second):
            break
    assert [output.request_id for output in outputs].count(first) == 3
    assert llm.is_finished()


def test_generate_leaves_nothing_behind_and_takes_over_nothing(
    llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> list[Any]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(llm._engine, "step", interrupted)
        with pytest.raises(KeyboardInterrupt):
            llm.generate(["one", "two"], use_tqdm=False)
    assert llm.is_finished()
    llm.add_request("hello", SamplingParams(max_tokens=3))
    with pytest.raises(EngineError, match="add_request are unfinished"):
        llm.generate(["one"], use_tqdm=False)


def test_ctrl_c_in_the_middle_of_a_step_loses_no_block(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    take, cache = Blocks.take, llm._engine._llm.scheduler.block_manager

    def interrupted(blocks: Blocks) -> int:
        block = take(blocks)
        signal.raise_signal(signal.SIGINT)
        return block

    with monkeypatch.context() as patched:
        patched.setattr(Blocks, "take", interrupted)
        with pytest.raises(KeyboardInterrupt):
            llm.generate("hello", use_tqdm=False)
    assert llm.is_finished() and cache.num_free_blocks == cache.num_blocks


def test_a_stream_tells_tokens_as_they_come_and_can_be_left(llm: LLM) -> None:
    params = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)
    whole = llm.generate(["hello"], params, use_tqdm=False)[0]

    async def read() -> None:
        outputs = [output async for output in llm.stream("hello", params)]
        assert [output.token for output in outputs] == whole["token_ids"]
        assert "".join(output.text for output in outputs) == whole["text"]
        endless = llm.stream("hello", SamplingParams(max_tokens=400, ignore_eos=True))
        await anext(endless)
        await endless.aclose()
        with pytest.raises(RequestError, match="must be SamplingParams"):
            await anext(llm.stream("hello", {}))  # type: ignore[arg-type]
        both = await asyncio.gather(*(collect(llm, params) for _ in range(2)))
        assert both == [whole["token_ids"]] * 2

    asyncio.run(read())
    with pytest.raises(EngineError, match="thread of its own"):
        llm.generate(["hello"], use_tqdm=False)


def test_a_model_that_gave_a_stream_ends_once_nobody_holds_it(checkpoint_directory: Path) -> None:
    llm = LLM(str(checkpoint_directory), device="cpu")
    assert asyncio.run(collect(llm, SamplingParams(max_tokens=2)))
    thread = llm._loop._thread
    del llm
    thread.join(60)
    assert not thread.is_alive()


async def collect(llm: LLM, params: SamplingParams) -> list[int]:
    return [output.token async for output in llm.stream("hello", params)]


def test_the_same_conversation_gets_the_same_answer(llm: LLM) -> None:
    params = SamplingParams(temperature=0, max_tokens=4)
    messages = [{"role": "user", "content": "Hi"}]
    one = llm.chat(messages, params, use_tqdm=False)
    assert llm.chat([messages, messages], params, use_tqdm=False) == one * 2


def test_what_cannot_be_served_is_named(checkpoint_directory: Path, llm: LLM, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="2 prompts and 1 sampling_params"):
        llm.generate(["a", "b"], [SamplingParams()], use_tqdm=False)
    with pytest.raises(RequestError, match="max_model_len"):
        llm.generate([[1] * 600], use_tqdm=False)
    with pytest.raises(RequestError, match="the prompt is empty"):
        llm.generate(["a", ""], use_tqdm=False)
    assert llm.is_finished()
    for model in ("/nowhere/at/all", Path("/nowhere/at/all")):
        with pytest.raises(ConfigError, match="neither a directory nor a repository"):
            LLM(model)
    (tmp_path / "config.json").write_text('{"architectures": ["MambaForCausalLM"]}')
    with pytest.raises(ConfigError, match="MambaForCausalLM: not supported, only Qwen3ForCausalLM"):
        LLM(str(tmp_path))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_num_seqs", 0),
        ("block_size", 0),
        ("kv_blocks", -3),
        ("max_model_len", 10.5),
        ("max_prefill_tokens", True),
        ("kv_host_gib", -1),
        ("gpu_memory_utilization", 5),
        ("graphs", "never"),
        ("kv_bring_back", "sometimes"),
    ],
)
def test_an_option_out_of_range_is_named_before_anything_is_loaded(option: str, value: Any) -> None:
    with pytest.raises(OptionsError, match=f"{option} must be"):
        LLM("/nowhere/at/all", **{option: value})


def test_a_model_longer_than_memory_is_served_as_long_as_it_fits(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from models.llm import kv_sizing

    monkeypatch.setattr(kv_sizing, "CPU_CACHE_BYTES", 64 * 1024)
    with LLM(str(checkpoint_directory), device="cpu") as llm:
        longest = llm._engine.max_model_len
        assert 16 <= longest < 512
        answer = llm.generate([[1, 2]], SamplingParams(max_tokens=1000, ignore_eos=True), use_tqdm=False)[0]
        assert len(answer["token_ids"]) == longest - 1
    with pytest.raises(EngineError, match="lower max_model_len"):
        LLM(str(checkpoint_directory), device="cpu", max_model_len=512)


def test_an_answer_is_no_longer_than_the_model_can_be(checkpoint_directory: Path) -> None:
    with LLM(str(checkpoint_directory), device="cpu", max_model_len=20) as llm:
        answer = llm.generate([[1] * 15], SamplingParams(max_tokens=100, ignore_eos=True), use_tqdm=False)[0]
    assert len(answer["token_ids"]) == 6
    assert answer["finish_reason"] == "length"


def test_a_step_on_a_cpu_is_no_longer_than_one_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU computes 16,384 positions in one; here a large model would take minutes."""
    with LLM(random_model(tmp_path, context=4096), device="cpu", max_num_seqs=2) as llm:
        run, counts = llm._engine._runner.run, []

        def counted(batch: Sequence[ScheduledSequence]) -> list[StepResult | None]:
            counts.append([row.count for row in batch])
            return run(batch)

        monkeypatch.setattr(llm._engine._runner, "run", counted)
        llm.add_request([1], SamplingParams(max_tokens=4, ignore_eos=True))
        llm.step()
        llm.add_request([2] * 3000, SamplingParams(max_tokens=1, ignore_eos=True))
        while not llm.is_finished():
            llm.step()
    assert counts == [[1], [1, 512], [1, 512], [1, 512], [1464]]
    usual = TextOptions(max_num_seqs=8)
    assert (usual.batched_tokens("cpu"), usual.prefill_tokens("cpu")) == (2048, 512)
    assert (usual.batched_tokens("cuda"), usual.prefill_tokens("cuda")) == (16384, 2048)


def test_half_a_character_in_a_prompt_is_refused(llm: LLM) -> None:
    with pytest.raises(RequestError, match="lone surrogate, which is no character, at position 1") as refused:
        llm.generate(["a\ud800b"], use_tqdm=False)
    assert refused.value.param == "prompt"


@pytest.mark.parametrize("field", ["prompt", "resume_ids"])
def test_a_token_without_weights_is_refused_and_fails_nobody_else(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    """Tokenizers may have more tokens than the model, and tokens to resume from come from elsewhere."""
    llm.add_request("one", SamplingParams(max_tokens=2, ignore_eos=True))
    request = TextRequest("r", "two", resume_ids=[VOCABULARY] if field == "resume_ids" else [])
    monkeypatch.setattr(llm.tokenizer, "encode", lambda text: [1, VOCABULARY if field == "prompt" else 1])
    with pytest.raises(RequestError, match=f"{field} has token {VOCABULARY}, the model has") as refused:
        llm._engine.add_request(request)
    assert refused.value.param == field
    assert [output.finish_reason for _ in range(2) for output in llm.step()] == [None, "length"]


def test_options_may_have_the_names_of_nano_vllm(checkpoint_directory: Path) -> None:
    params = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)

    def answered(**options: Any) -> list[int]:
        with LLM(str(checkpoint_directory), device="cpu", max_num_seqs=2, **options) as llm:
            return llm.generate(["one", "two"], params, use_tqdm=False)[1]["token_ids"]

    plain = answered()
    assert answered(kvcache_block_size=256, num_kvcache_blocks=-1) == plain
    assert answered(enable_cpu_offload=True, num_gpu_blocks=4, num_kvcache_blocks=16) == plain
    with LLM(str(checkpoint_directory), device="cpu", kvcache_block_size=32, num_kvcache_blocks=9) as llm:
        assert (llm._engine.options.block_size, llm._engine.options.kv_blocks) == (32, 9)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"kv_cache_blocks": 4}, "there is no option kv_cache_blocks, only .*kv_blocks"),
        ({"kvcache_block_size": 32, "block_size": 64}, "block_size is given twice"),
        ({"block_size": 64, "kvcache_block_size": 32}, "block_size is given twice"),
        ({"kvcache_block_size": 0}, "block_size must be a whole number of at least 1"),
    ],
)
def test_options_that_there_are_not_are_named(
    checkpoint_directory: Path, options: dict[str, Any], named: str
) -> None:
    with pytest.raises(OptionsError, match=named):
        LLM(str(checkpoint_directory), device="cpu", **options)
