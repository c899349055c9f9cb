"""Arguments of the wrong kind are refused by name, before they meet the answers of others in a step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import OptionsError, RequestError
from models.llm import LLM, SamplingParams

WRONG: list[tuple[str, Any]] = [
    *[("stop", value) for value in (None, 5, [5], ["x", ""])],
    *[("stop_token_ids", value) for value in (None, 5, "5", [1.5], ["5"], [True])],
    *[("bad_words", value) for value in (None, "word", ["word"], [5], [[1.5]], [[None]])],
    *[("logit_bias", value) for value in (None, [5], {1.5: 1.0}, {"5": 1.0}, {True: 1.0})],
    *[("logit_bias", {5: value}) for value in (None, "1", True, float("nan"))],
    *[(name, None) for name in ("temperature", "max_tokens", "min_tokens", "top_k", "top_p", "min_p")],
    *[("ignore_eos", value) for value in ("no", 0, 1, None)],
    *[(name, None) for name in ("repetition_penalty", "presence_penalty", "frequency_penalty")],
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_sampling_parameter_of_the_wrong_kind_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RequestError) as refused:
        SamplingParams(**{name: value})
    assert refused.value.param == name


def test_minus_one_likeliest_tokens_are_all() -> None:
    assert SamplingParams(top_k=-1) == SamplingParams(top_k=0)
    with pytest.raises(RequestError, match="top_k must be a whole number of at least -1"):
        SamplingParams(top_k=-2)


def test_numbers_of_numpy_are_numbers() -> None:
    ids = np.array([3, 4])
    params = SamplingParams(stop_token_ids=ids, bad_words=[ids], logit_bias={ids[0]: np.float32(1)})
    assert params == SamplingParams(stop_token_ids=(3, 4), bad_words=((3, 4),), logit_bias={3: 1.0})


@pytest.mark.parametrize("prompt", [None, 5, b"text", ["text"], [1.5], [b"text"], np.array([1, 2])])
def test_a_prompt_that_is_neither_text_nor_tokens_is_refused(llm: LLM, prompt: Any) -> None:
    with pytest.raises(RequestError, match="a text or a list of token ids") as refused:
        llm.generate([prompt], use_tqdm=False)
    assert refused.value.param == "prompt"


def test_what_is_no_list_of_prompts_messages_or_parameters_is_refused(llm: LLM) -> None:
    with pytest.raises(RequestError, match="prompts must be a list"):
        llm.generate(None)  # type: ignore[arg-type]
    for messages in ({"role": "user", "content": "Hello."}, None):
        with pytest.raises(RequestError, match="messages must be a list"):
            llm.chat(messages)  # type: ignore[arg-type]
    for messages in ("Hello.", ["Hello."], [["Hello."]]):
        with pytest.raises(RequestError, match=r"a message must be a mapping, .* got 'H"):
            llm.chat(messages)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="a conversation must be a list of messages, got 3"):
        llm.chat([3])  # type: ignore[list-item]
    for params in ([None], [{"temperature": 0}], {"temperature": 0}, 5, 0, {}, "temperature"):
        with pytest.raises(RequestError, match="must be SamplingParams"):
            llm.generate(["Hello."], params)  # type: ignore[arg-type]
        with pytest.raises(RequestError, match="must be SamplingParams"):
            llm.add_request("Hello.", params)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="1 prompts and 0 sampling_params"):
        llm.generate(["Hello."], [])


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("cpu_weights", "int8"),
        ("gpu_kv_blocks", "2"),
        ("gpu_kv_blocks", 2.5),
        ("device", "gpu"),
        ("enforce_eager", "no"),
        ("kv_offload", 1),
    ],
)
def test_an_option_of_the_wrong_kind_is_named(checkpoint_directory: Path, option: str, value: object) -> None:
    with pytest.raises(OptionsError, match=option):
        LLM(str(checkpoint_directory), **{"kv_offload": True, "device": "cpu", option: value})
    with pytest.raises(RequestError, match="tensor_parallel_size must be between 1 and"):
        LLM(str(checkpoint_directory), tensor_parallel_size="2")  # type: ignore[arg-type]


def test_one_text_is_one_prompt(llm: LLM) -> None:
    params = SamplingParams(temperature=0, max_tokens=4, ignore_eos=True)
    assert llm.generate("Hello.", params, use_tqdm=False) == llm.generate(["Hello."], params, use_tqdm=False)
