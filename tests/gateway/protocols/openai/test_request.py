"""What OpenAI's fields, and those that its clients add, mean here."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateway.errors import ApiError
from gateway.protocols.ignored import HEADER
from gateway.protocols.openai.request import OpenAiSpeechRequest
from gateway.requests import TtsRequest

OWN = {
    "seed": 7,
    "sample_rate": 16000,
    "temperature": 0.5,
    "cfg_value": 1.5,
    "language": "zh",
    "max_seconds": 3.0,
    "min_seconds": 1.0,
    "speed": 1.25,
    "normalize": "on",
    "priority": "bulk",
    "record": True,
    "inference_timesteps": 8,
    "lexicon": {"Kyiv": "keev"},
    "input_type": "text",
    "bit_rate": 64_000,
    "paragraph_pause": 1.5,
    "adapter": "anna",
    "instructions": "calm",
}


def order(**fields: Any) -> OpenAiSpeechRequest:
    return OpenAiSpeechRequest(**{"model": "tts-1", "input": "Five.", **fields})


@pytest.mark.parametrize(("field", "value"), OWN.items())
def test_fields_that_mean_something_here_are_taken(field: str, value: Any) -> None:
    translated = order(**{field: value}).to_tts_request(set())
    assert getattr(translated, field) == value
    assert order(**{field: value}).ignored == {}


def test_every_option_of_our_own_is_taken() -> None:
    elsewhere = {"text", "format", "model", "voice"}
    shapeless = {"timestamps"}  # of which OpenAI's answers have no place
    assert set(OWN) == TtsRequest.model_fields.keys() - elsewhere - shapeless


def test_unknown_fields_are_named_where_their_names_are_harmless_and_else_counted() -> None:
    said = order(user="u", non_streaming_mode=True, **{"x\r\nSet-Cookie: a": 1, "é": 2, "y" * 65: 3})
    assert said.ignored == {HEADER: "non_streaming_mode, user, 3 more"}
    many = order(**{f"f{n}": n for n in range(99)}).ignored[HEADER].split(", ")
    assert (len(many), many[-1]) == (21, "79 more")


@pytest.mark.parametrize(
    ("said", "meant"), [("English", "en"), ("Auto", None), ("en-GB", "en-GB"), (None, None)]
)
def test_languages_come_as_words_too(said: str | None, meant: str | None) -> None:
    assert order(language=said).to_tts_request(set()).language == meant


def test_marked_up_text_is_taken() -> None:
    said = order(input="<speak>One.</speak>", input_type="ssml").to_tts_request(set())
    assert said.input_type == "ssml"
    with pytest.raises(ApiError) as refused:
        order(input="<audio/>", input_type="ssml").to_tts_request(set())
    assert (refused.value.status_code, refused.value.param) == (422, "input")


def test_what_is_null_is_left_out() -> None:
    said = order(speed=None, voice=None, response_format=None, model=None, user=None)
    assert (said.speed, said.voice, said.response_format, said.ignored) == (1.0, "default", "mp3", {})


def test_names_that_somebody_has_typed_are_taken() -> None:
    """SillyTavern sends what stands in its fields: an empty model, and the second of "alloy, nova"."""
    fields = {"input": "Five.", "response_format": "mp3", "voice": " nova", "speed": 1, "model": ""}
    assert OpenAiSpeechRequest(**fields).to_tts_request(set()) == order(voice="nova").to_tts_request(set())
    assert order(voice="").voice == order().voice == "default"


def test_a_model_that_nobody_serves_means_the_one_that_is_served() -> None:
    assert order().to_tts_request({"voxcpm"}).model is None
    assert order(model="voxcpm").to_tts_request({"voxcpm"}).model == "voxcpm"
    assert OpenAiSpeechRequest(input="Five.").to_tts_request({"voxcpm"}).model is None


def test_pcm_has_the_rate_that_openai_s_clients_take_for_granted() -> None:
    assert order(response_format="pcm").to_tts_request(set()).sample_rate == 24000
    assert order(response_format="pcm", sample_rate=8000).to_tts_request(set()).sample_rate == 8000
    assert order(response_format="mp3").to_tts_request(set()).sample_rate is None


@pytest.mark.parametrize(
    ("fields", "whole"),
    [
        ({"response_format": "wav"}, False),
        ({"response_format": "flac"}, True),
        ({"response_format": "flac", "stream": True}, False),
        ({"response_format": "mp3", "stream": False}, True),
        ({"response_format": "flac", "stream_format": "sse"}, False),
    ],
)
def test_which_files_come_whole(fields: dict[str, Any], whole: bool) -> None:
    assert order(**fields).comes_whole is whole


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"speed": 0.24}, "speed"),
        ({"speed": 4.01}, "speed"),
        ({"stream_format": "fast"}, "stream_format"),
        ({"voice": {"name": "alloy"}}, "voice"),
        ({"voice": ["alloy"]}, "voice"),
        ({"instructions": "x" * 4097}, "instructions"),
        ({"response_format": "ogg"}, "response_format"),
        ({"language": "the second"}, "language"),
    ],
)
def test_wrong_values_are_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ValidationError) as refused:
        order(**fields)
    assert refused.value.errors()[0]["loc"][0] == param


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": " \n"}, "input"),
        ({"min_seconds": 3.0, "max_seconds": 2.0}, "min_seconds"),
        ({"response_format": "opus", "sample_rate": 11025}, "sample_rate"),
        ({"max_seconds": 0.0}, "max_seconds"),
    ],
)
def test_what_is_wrong_between_fields_is_said_in_the_client_s_words(
    fields: dict[str, Any], param: str
) -> None:
    with pytest.raises(ApiError) as refused:
        order(**fields).to_tts_request(set())
    assert (refused.value.status_code, refused.value.param) == (422, param)


def test_text_without_words_is_for_protocols_whose_clients_may_send_it() -> None:
    assert order(input="...").to_tts_request(set()).text == "..."
