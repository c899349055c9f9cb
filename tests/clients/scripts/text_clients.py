"""Clients that ask a text model: OpenAI's SDK, LiteLLM, and the agents of LiveKit and pipecat."""

from __future__ import annotations

import asyncio
import base64
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # which it would fetch otherwise

import litellm
import openai
from cases import main
from livekit.agents import llm
from livekit.plugins import openai as livekit_openai
from openai import AsyncOpenAI, OpenAI
from pipecat.frames.frames import ErrorFrame, LLMContextFrame, LLMTextFrame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.tests.utils import run_test

URL, KEY = os.environ["URL"], os.environ["KEY"]
BASE = f"{URL}/v1"
QUESTION = [{"role": "system", "content": "Tell."}, {"role": "user", "content": "What did you see?"}]
ORDER = {"model": "teller", "messages": QUESTION, "max_tokens": 24, "seed": 3}
client = OpenAI(api_key=KEY, base_url=BASE, max_retries=0)
OPENING = " The old ship came home."


def case_openai_chat() -> None:
    answer = client.chat.completions.create(**ORDER)
    assert answer.choices[0].message.content.startswith(OPENING)
    assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("length", 24)
    again = client.chat.completions.create(**ORDER)
    assert again.choices[0].message.content == answer.choices[0].message.content


def case_openai_stream() -> None:
    whole = client.chat.completions.create(**ORDER).choices[0].message.content
    options = {"include_usage": True}
    *events, last = client.chat.completions.create(**ORDER, stream=True, stream_options=options)
    assert "".join(event.choices[0].delta.content or "" for event in events) == whole
    assert events[-1].choices[0].finish_reason == "length"
    assert (last.choices, last.usage.completion_tokens) == ([], 24)
    with client.chat.completions.stream(**ORDER, stop="home.") as stream:
        (choice,) = stream.get_final_completion().choices
    assert (choice.message.content.rstrip(), choice.finish_reason) == (" The old ship came", "stop")


async def case_openai_async_many_at_once() -> None:
    async with AsyncOpenAI(api_key=KEY, base_url=BASE, max_retries=0) as many:
        orders = [many.chat.completions.create(**{**ORDER, "seed": seed}) for seed in range(6)]
        answers = [answer.choices[0].message.content for answer in await asyncio.gather(*orders)]
    assert len(set(answers)) > 1 and all(answer.startswith(OPENING) for answer in answers), answers


def case_openai_choices_stop_and_probabilities() -> None:
    answer = client.chat.completions.create(
        **ORDER, n=2, stop=["home."], logprobs=True, top_logprobs=2, extra_body={"top_k": 5, "min_p": 0.01}
    )
    for choice in answer.choices:
        assert (choice.message.content.rstrip(), choice.finish_reason) == (" The old ship came", "stop")
        assert len(choice.logprobs.content[0].top_logprobs) == 2


def case_openai_completions() -> None:
    answer = client.completions.create(model="teller", prompt="Well.", max_tokens=5, logprobs=1, seed=1)
    assert answer.choices[0].text == OPENING
    assert answer.choices[0].logprobs.tokens[0] == " The"
    events = client.completions.create(model="teller", prompt="Well.", max_tokens=5, seed=1, stream=True)
    assert "".join(event.choices[0].text for event in events) == OPENING


def case_openai_spoken() -> None:
    spoken = {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}
    audio = client.chat.completions.create(**ORDER, **spoken).choices[0].message.audio
    assert base64.b64decode(audio.data)[:4] == b"RIFF" and audio.transcript.startswith(OPENING)
    spoken["audio"]["format"] = "pcm16"
    pcm, transcript = b"", ""
    for event in client.chat.completions.create(**ORDER, **spoken, stream=True):
        piece = event.choices[0].delta.audio
        pcm += base64.b64decode(getattr(piece, "data", None) or "")
        transcript += getattr(piece, "transcript", None) or ""
    assert transcript == audio.transcript and len(pcm) > 100_000


def case_openai_errors() -> None:
    for wrong, kind, code in (
        ({"model": "gpt-9"}, openai.NotFoundError, "unknown_model"),
        ({"temperature": 9}, openai.UnprocessableEntityError, "invalid_value"),
        ({"messages": [{"role": "user", "content": "a" * 9000}]}, openai.UnprocessableEntityError,
         "context_length_exceeded"),
    ):  # fmt: skip
        try:
            client.chat.completions.create(**{**ORDER, **wrong})
        except kind as error:
            assert error.code == code and error.param, (error.code, error.param)
        else:
            raise AssertionError(f"{wrong} was taken")


def case_litellm() -> None:
    order = {**ORDER, "model": "openai/teller", "api_base": BASE, "api_key": KEY}
    whole = litellm.completion(**order).choices[0].message.content
    assert whole.startswith(OPENING)
    pieces = [event.choices[0].delta.content or "" for event in litellm.completion(**order, stream=True)]
    assert "".join(pieces) == whole


async def case_livekit_agents() -> None:
    writer = livekit_openai.LLM(model="teller", base_url=BASE, api_key=KEY, max_completion_tokens=24)
    context = llm.ChatContext.empty()
    context.add_message(role="system", content="Tell.")
    context.add_message(role="user", content="What did you see?")
    text, usage = "", None
    async with writer.chat(chat_ctx=context) as stream:
        async for chunk in stream:
            text += (chunk.delta.content or "") if chunk.delta else ""
            usage = chunk.usage or usage
    await writer.aclose()
    assert text.startswith(OPENING) and usage.completion_tokens == 24, (text, usage)


async def case_pipecat() -> None:
    settings = OpenAILLMService.Settings(model="teller", max_completion_tokens=24)
    service = OpenAILLMService(api_key=KEY, base_url=BASE, settings=settings)
    frames = [LLMContextFrame(LLMContext(messages=QUESTION))]
    down, up = await run_test(service, frames_to_send=frames, start_timeout=10.0)
    problems = [frame for frame in (*down, *up) if isinstance(frame, ErrorFrame)]
    assert not problems, problems
    text = "".join(frame.text for frame in down if isinstance(frame, LLMTextFrame))
    assert text.startswith(OPENING), text


main(__name__)
