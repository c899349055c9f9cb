"""LiteLLM: its SDK, and its proxy between OpenAI's SDK and the gateway."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # which it would fetch otherwise

import litellm
import openai
import uvicorn
from cases import main
from litellm.proxy.proxy_server import app
from openai import AsyncOpenAI

KEY = os.environ["KEY"]
BASE = f"{os.environ['URL']}/v1"
TEXT = "The doors open at nine. Please bring your ticket."
ORDER = {"model": "openai/tts-1", "input": TEXT, "api_base": BASE, "api_key": KEY}
PROXY_KEY = "sk-of-the-proxy"
PROXY = f"""
model_list:
  - model_name: speech
    litellm_params: {{model: openai/tts-1, api_base: "{BASE}", api_key: "{KEY}"}}
general_settings: {{master_key: {PROXY_KEY}}}
"""


def case_speech() -> None:
    answer = litellm.speech(voice="alloy", response_format="wav", speed=1.2, **ORDER)
    assert answer.content[:4] == b"RIFF" and len(answer.content) > 50_000, len(answer.content)


async def case_speech_async() -> None:
    answer = await litellm.aspeech(voice="alloy", **ORDER)
    assert len(answer.content) > 5000


def case_errors() -> None:
    try:
        litellm.speech(voice="nobody", max_retries=0, **ORDER)
    except openai.NotFoundError as error:
        assert "nobody" in str(error)
    else:
        raise AssertionError("a voice that is none was taken")


@asynccontextmanager
async def _proxy(config: Path) -> AsyncIterator[str]:
    """Its base URL; the port is taken before it starts, so that nobody else can."""
    os.environ["CONFIG_FILE_PATH"] = str(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            server.should_exit = True
            await serving


def case_proxy() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(PROXY)
        asyncio.run(_speak_through_proxy(config))


async def _speak_through_proxy(config: Path) -> None:
    async with _proxy(config) as url:
        client = AsyncOpenAI(base_url=url, api_key=PROXY_KEY, max_retries=0)
        for format in ("mp3", "wav"):
            answer = await client.audio.speech.create(
                model="speech", voice="alloy", input=TEXT, response_format=format
            )
            assert len(answer.content) > 5000, format
        try:
            await client.audio.speech.create(model="speech", voice="nobody", input=TEXT)
        except openai.NotFoundError as error:
            assert "nobody" in str(error)
        else:
            raise AssertionError("a voice that is none was taken")


main(__name__)
