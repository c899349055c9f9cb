"""Pauses of SSML: silence of just that length, once, whatever happens to workers, gateways and speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gateway.errors import ApiError
from gateway.requests import ClipRequest, StreamRequest, TtsRequest, parse_stream_request
from gateway.service import Gateway
from gateway.sessions.storage.timeline import build
from gateway.sessions.witness import witness_clip
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.parts import WORDS_ONLY
from gateway.streams.clip.start import start_request
from gateway.streams.resumption.token import ResumeTokens
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.text import Lexicon
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import SEED, Ear, gateway_of, pcm_of, prefer_the_first

RATE = 24_000
SOURCE = (
    "<speak><break time='250ms'/>Faults are planned. <break time='1.5s'/>"
    "<sub alias='W three C'>W3C</sub> goes on.<break time='40ms'/></speak>"
)
TEXTS = ("Faults are planned.", "W three C goes on.")


def silence(seconds: float) -> bytes:
    return bytes(2 * round(seconds * RATE))


WHOLE = silence(0.25) + pcm_of(TEXTS[0]) + silence(1.5) + pcm_of(TEXTS[1]) + silence(0.04)


async def speak(gateway: Gateway, ear: Ear, **fields: object) -> Outcome:
    request = ClipRequest.model_validate({"text": SOURCE, "input_type": "ssml", "seed": SEED, **fields})
    return await Synthesis(gateway, request, "r1", ear).run()


async def test_silence_is_exactly_as_long_as_asked() -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        outcome = await speak(gateway, ear := Ear())
    assert ear.pcm == WHOLE
    assert outcome.audio_seconds == pytest.approx(len(WHOLE) / 2 / RATE)
    assert tuple(start.text for start in worker.requests) == TEXTS


async def test_what_is_written_in_signs_alone_is_said() -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        await speak(gateway, ear := Ear(), text="<speak><sub alias='plus'>+</sub></speak>")
    assert [start.text for start in worker.requests] == ["plus"]
    assert ear.pcm == pcm_of("plus")


@pytest.mark.parametrize("patches", [0, 1, 3])
async def test_a_pause_is_heard_once_though_workers_die(patches: int) -> None:
    faulty, sound = ScriptedWorker([Act(patches, "cut")] * 3), ScriptedWorker([Act()])
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear())
    assert outcome.migrations >= 1
    assert ear.pcm == WHOLE


async def test_max_seconds_bounds_speech_and_no_pause() -> None:
    async with gateway_of(ScriptedWorker([Act()])) as gateway:
        longest = len(pcm_of(TEXTS[0])) / 2 / RATE + len(pcm_of(TEXTS[1])) / 2 / RATE
        outcome = await speak(gateway, ear := Ear(), max_seconds=round(longest + 0.05, 3))
    assert outcome.migrations == 0
    assert ear.pcm == WHOLE


@pytest.mark.parametrize("speed", [0.5, 2.0])
async def test_a_speed_changes_no_pause(speed: float) -> None:
    async with gateway_of(ScriptedWorker([Act()])) as gateway:
        outcome = await speak(gateway, Ear(), speed=speed)
        speech = (len(pcm_of(TEXTS[0])) + len(pcm_of(TEXTS[1]))) / 2 / RATE
    assert outcome.audio_seconds == pytest.approx(speech / speed + 1.79, abs=0.02)


def test_a_resumed_clip_pauses_where_it_did_not_yet() -> None:
    described = describe_model(features=(WORDS_ONLY,))
    latents = bytes(4 * described.patch_size * described.latent_dim)
    clip = Clip(StreamRequest(text=SOURCE, input_type="ssml"), SEED, 60.0)
    clip.say_with(Lexicon.of({"Faults": "Folts"}))
    clip.begin(described)
    tokens = ResumeTokens(None, 60.0)
    writer = tokens.begin("client")
    assert len(clip.commit_pause()) == len(silence(0.25))
    clip.commit(latents, described.patch_samples)
    token = writer.extend(clip).text
    begun, _ = tokens.open(token, "client")
    assert (begun.pause_samples, begun.samples) == (0, RATE // 4 + described.patch_samples)
    clip.commit(latents, described.patch_samples)
    clip.end_part("stop")
    between, _ = tokens.open(token + writer.extend(clip).text, "client")
    assert between.pause_samples == clip.pause_samples == 1.5 * RATE
    assert start_request(between, "r", 2).text == start_request(clip, "r", 2).text == TEXTS[1]
    assert between.text.spoken == clip.text.spoken == "Folts are planned. W three C goes on."
    assert between.text.written == clip.text.written == ["Faults are planned.", "W3C goes on."]


async def test_a_recorded_session_has_the_silence_and_the_words_beside_it(tmp_path: Path) -> None:
    async with gateway_of(ScriptedWorker([Act()]), data_dir=tmp_path, record_sessions="ask") as gateway:
        request = TtsRequest(text=SOURCE, input_type="ssml", seed=SEED, record=True)
        ear = Ear()
        witness = witness_clip(gateway.recorder, request, "ann", ear)
        lines: list[dict[str, object]] = []
        keep = witness._recording._line

        def noted(kind: str, /, **line: object) -> None:
            lines.append({**line, "type": kind, "at": 0})
            keep(kind, **line)

        witness._recording._line = noted
        await Synthesis(gateway, request, "r1", witness, witness=witness).run()
    assert ear.pcm == WHOLE
    request_text = "Faults are planned. W3C goes on."
    audio = {"type": "audio", "at": 1, "index": 0, "samples": len(WHOLE) // 2, "sample_rate": RATE}
    parts = [line for line in lines if line["type"] == "spoken"]
    utterance = {"type": "utterance", "at": 0, "index": 0, "text": request_text, "parameters": {}}
    (built,) = build([utterance, *parts, audio])["utterances"]
    first, second = built["parts"]
    assert first["first_sample"] == RATE // 4
    assert first["end_sample"] == RATE // 4 + len(pcm_of(TEXTS[0])) // 2
    assert second["first_sample"] == first["end_sample"] + 1.5 * RATE
    assert built["text"][second["start"] : second["end"]] == "W3C goes on."


def test_what_is_not_known_is_refused_at_the_edge() -> None:
    body = {"text": "<speak><audio src='x'/>Hi</speak>", "input_type": "ssml"}
    with pytest.raises(ApiError) as caught:
        parse_stream_request(json.dumps(body))
    error = caught.value.to_dict()["error"]
    assert (caught.value.status_code, error["param"], error["code"]) == (422, "text", "invalid_ssml")
    assert "<audio>" in error["message"]
    with pytest.raises(ApiError, match="input_type"):
        parse_stream_request(json.dumps({"text": "Hi", "input_type": "html"}))
    plain = parse_stream_request(json.dumps({"text": "<break/> is a tag"}))
    assert Clip(plain, 1, 60.0).text.written == ["<break/> is a tag"]


RATED = (
    "<speak>Faults are planned. <prosody rate='200%'>Speech goes on.</prosody>"
    "<break time='500ms'/>Faults are planned.</speak>"
)


@pytest.mark.parametrize("patches", [1000, 2])
async def test_a_rate_holds_for_its_part_alone(patches: int) -> None:
    faulty, sound = ScriptedWorker([Act(), Act(patches, "cut"), Act()]), ScriptedWorker([Act()])
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear(), text=RATED)
    plain, fast = pcm_of("Faults are planned."), pcm_of("Speech goes on.")
    assert ear.pcm.startswith(plain) and ear.pcm.endswith(silence(0.5) + plain)
    between = len(ear.pcm) - 2 * len(plain) - len(silence(0.5))
    assert between / len(fast) == pytest.approx(0.5, abs=0.01)
    assert outcome.audio_seconds == pytest.approx(len(ear.pcm) / 2 / RATE)


async def test_a_rate_and_a_speed_have_their_bounds_together() -> None:
    fields = {"text": RATED, "input_type": "ssml"}
    ClipRequest.model_validate({**fields, "speed": 2.0})
    for wrong in ({"speed": 3.0}, {"speed": 0.2}):
        with pytest.raises(ValueError, match="speed"):
            ClipRequest.model_validate({**fields, **wrong})
    with pytest.raises(ApiError, match="leave <prosody> out"):
        parse_stream_request(json.dumps({**fields, "resume": True}))
    async with gateway_of(ScriptedWorker([Act()])) as gateway:
        await speak(gateway, Ear(), text=RATED, speed=0.5)
