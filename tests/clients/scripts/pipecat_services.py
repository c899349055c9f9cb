"""pipecat's services for Cartesia, Deepgram, ElevenLabs and OpenAI in a pipeline."""

from __future__ import annotations

import os

import aiohttp
from cases import main
from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame, TTSSpeakFrame, TTSTextFrame
from pipecat.services.cartesia.tts import CartesiaHttpTTSService, CartesiaTTSService
from pipecat.services.deepgram.flux.tts import DeepgramFluxTTSService
from pipecat.services.deepgram.tts import DeepgramHttpTTSService, DeepgramTTSService
from pipecat.services.elevenlabs.dialogue.tts import ElevenLabsDialogueTTSService
from pipecat.services.elevenlabs.tts import ElevenLabsHttpTTSService, ElevenLabsTTSService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.services.tts_service import TTSService
from pipecat.tests.utils import run_test

URL, KEY = os.environ["URL"], os.environ["KEY"]
SOCKETS = URL.replace("http", "ws", 1)
TEXT = "The doors open at nine. Please bring your ticket."


async def _said(service: TTSService, *texts: str) -> tuple[float, str]:
    """Seconds of audio, and the words that came as text."""
    sent: list[Frame] = [TTSSpeakFrame(text) for text in texts]
    down, up = await run_test(service, frames_to_send=sent, start_timeout=10.0)
    problems = [frame for frame in (*down, *up) if isinstance(frame, ErrorFrame)]
    assert not problems, problems
    audio = [frame for frame in down if isinstance(frame, TTSAudioRawFrame)]
    words = [frame.text for frame in down if isinstance(frame, TTSTextFrame)]
    return sum(frame.num_frames / frame.sample_rate for frame in audio), " ".join(words)


def _elevenlabs() -> ElevenLabsTTSService:
    url = URL.replace("http", "ws", 1)
    settings = ElevenLabsTTSService.Settings(voice="default")
    return ElevenLabsTTSService(api_key=KEY, url=url, sample_rate=24000, settings=settings)


async def case_elevenlabs_socket() -> None:
    seconds, words = await _said(_elevenlabs(), TEXT)
    assert seconds > 2 and words.split() == TEXT.split(), (seconds, words)


async def case_elevenlabs_socket_several_times() -> None:
    seconds, words = await _said(_elevenlabs(), TEXT, "And again.")
    assert seconds > 3 and words.split() == f"{TEXT} And again.".split(), (seconds, words)


async def case_elevenlabs_dialogue() -> None:
    settings = ElevenLabsDialogueTTSService.Settings(voice="default")
    service = ElevenLabsDialogueTTSService(api_key=KEY, url=SOCKETS, sample_rate=24000, settings=settings)
    down, _ = await run_test(service, frames_to_send=[TTSSpeakFrame(TEXT)], start_timeout=10.0)
    words = [frame for frame in down if isinstance(frame, TTSTextFrame)]
    times = [frame.pts for frame in words]
    assert [frame.text for frame in words] == TEXT.split() and times == sorted(times) and times[0] >= 0, words


async def case_elevenlabs_over_http() -> None:
    async with aiohttp.ClientSession() as session:
        service = ElevenLabsHttpTTSService(
            api_key=KEY, voice_id="default", aiohttp_session=session, base_url=URL, sample_rate=24000
        )
        seconds, words = await _said(service, TEXT)
    assert seconds > 2 and words.split() == TEXT.split(), (seconds, words)


async def case_openai_at_a_speed() -> None:
    lengths = []
    for speed in (1.0, 1.5):
        settings = OpenAITTSService.Settings(voice="alloy", speed=speed)
        service = OpenAITTSService(api_key=KEY, base_url=f"{URL}/v1", settings=settings)
        lengths.append((await _said(service, TEXT))[0])
    assert lengths[1] > 1 and abs(lengths[0] / lengths[1] - 1.5) < 0.3, lengths


def _cartesia() -> CartesiaTTSService:
    settings = CartesiaTTSService.Settings(voice="default")
    url = f"{SOCKETS}/tts/websocket"
    return CartesiaTTSService(api_key=KEY, url=url, sample_rate=24000, settings=settings)


async def case_cartesia_socket() -> None:
    service = _cartesia()
    seconds, words = await _said(service, TEXT, "And again.")
    assert seconds > 3 and words.split() == f"{TEXT} And again.".split(), (seconds, words)


async def case_cartesia_pauses_and_pronunciations() -> None:
    service = _cartesia()
    phones = service.format_pronunciation("Nguyen", "wɪn")
    plain, _ = await _said(service, "Ask for Win.")
    seconds, words = await _said(service, f"Ask for {phones}.{service.PAUSE_TAG(1.5)}")
    assert 1.2 < seconds - plain < 1.8 and words.split()[:2] == ["Ask", "for"], (seconds, plain, words)


async def case_cartesia_over_http() -> None:
    async with aiohttp.ClientSession() as session:
        service = CartesiaHttpTTSService(
            api_key=KEY, voice_id="default", aiohttp_session=session, base_url=URL, sample_rate=24000
        )
        seconds, _ = await _said(service, TEXT)
    assert seconds > 2, seconds


async def case_deepgram_socket() -> None:
    settings = DeepgramTTSService.Settings(voice="aura-2-helena-en")
    service = DeepgramTTSService(api_key=KEY, base_url=SOCKETS, sample_rate=24000, settings=settings)
    seconds, _ = await _said(service, TEXT, "And again.")
    assert seconds > 3, seconds


async def case_deepgram_turns() -> None:
    settings = DeepgramFluxTTSService.Settings(voice="flux-alexis-en", speed=1.05, expressivity=1)
    service = DeepgramFluxTTSService(
        api_key=KEY, url=f"{SOCKETS}/v2/speak", sample_rate=24000, tag=["a", "b"], settings=settings
    )
    seconds, _ = await _said(service, TEXT, "And again.")
    assert seconds > 3, seconds


async def case_deepgram_over_http() -> None:
    async with aiohttp.ClientSession() as session:
        service = DeepgramHttpTTSService(
            api_key=KEY, voice="default", aiohttp_session=session, base_url=URL, sample_rate=24000
        )
        seconds, _ = await _said(service, TEXT)
    assert seconds > 2, seconds


main(__name__)
