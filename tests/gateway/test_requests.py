"""Validation: exact limits, strict types, and the name of the field that is wrong."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gateway.errors import ApiError, from_validation
from gateway.requests import MAX_SEED, ClipRequest, TtsRequest, check_limits, parse_stream_request
from gateway.settings import load_settings


def parse(**fields: object) -> ClipRequest:
    """Raises ApiError as the HTTP interface would."""
    try:
        return ClipRequest.model_validate(fields)
    except ValidationError as error:
        raise from_validation(error.errors()) from error


@pytest.mark.parametrize(
    ("field", "lowest", "highest", "below", "above"),
    [
        ("seed", 0, MAX_SEED, -1, MAX_SEED + 1),
        ("cfg_value", 0.1, 10, 0.0999, 10.001),
        ("inference_timesteps", 2, 100, 1, 101),
        ("speed", 0.25, 4.0, 0.24, 4.01),
        ("temperature", 0, 2, -0.001, 2.001),
        ("sample_rate", 8000, 48000, 7999, 48001),
        ("bit_rate", 8000, 320_000, 7999, 320_001),
    ],
)
def test_limits_are_inclusive(field: str, lowest: float, highest: float, below: float, above: float) -> None:
    for value in (lowest, highest):
        assert getattr(parse(text="hi", **{field: value}), field) == value
    for value in (below, above):
        with pytest.raises(ApiError) as refused:
            parse(text="hi", **{field: value})
        assert (refused.value.status_code, refused.value.param) == (422, field)


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({}, "text", "missing_field"),
        ({"text": ""}, "text", "empty_text"),
        ({"text": " \n\t\u2003"}, "text", "empty_text"),
        ({"text": "?! \U0001f642 \u2026"}, "text", "empty_text"),
        ({"text": 5}, "text", "invalid_value"),
        ({"text": None}, "text", "invalid_value"),
        ({"text": ["hi"]}, "text", "invalid_value"),
        ({"text": "a", "input": "b"}, "input", "invalid_value"),
        ({"text": "hi", "voice": ""}, "voice", "invalid_value"),
        ({"text": "hi", "voice": 3}, "voice", "invalid_value"),
        ({"text": "hi", "format": "ogg"}, "format", "invalid_value"),
        ({"text": "hi", "format": "WAV"}, "format", "invalid_value"),
        ({"text": "hi", "volume": 3}, "volume", "unknown_field"),
        ({"text": "hi", "seed": "7"}, "seed", "invalid_value"),
        ({"text": "hi", "seed": 7.0}, "seed", "invalid_value"),
        ({"text": "hi", "seed": True}, "seed", "invalid_value"),
        ({"text": "hi", "cfg_value": "2"}, "cfg_value", "invalid_value"),
        ({"text": "hi", "cfg_value": float("nan")}, "cfg_value", "invalid_value"),
        ({"text": "hi", "temperature": float("inf")}, "temperature", "invalid_value"),
        ({"text": "hi", "min_seconds": -1}, "min_seconds", "invalid_value"),
        ({"text": "hi", "max_seconds": 0}, "max_seconds", "invalid_value"),
        ({"text": "hi", "min_seconds": 3, "max_seconds": 2}, "min_seconds", "invalid_value"),
        ({"text": "hi", "format": "opus", "sample_rate": 44100}, "sample_rate", "invalid_value"),
        ({"text": "hi", "format": "opus", "bit_rate": 256_001}, "bit_rate", "invalid_value"),
        ({"text": "hi", "language": "English please"}, "language", "invalid_value"),
        ({"text": "\ud800"}, "text", "invalid_value"),
        ({"text": "hi", "voice": "\ud800"}, "voice", "invalid_value"),
        ({"text": "hi", "\ud800": 1}, None, "invalid_body"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, object], param: str | None, code: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse(**fields)
    assert (refused.value.status_code, refused.value.param, refused.value.code) == (422, param, code)
    assert refused.value.to_dict()["error"]["type"] == "invalid_request_error"


def test_input_is_another_name_of_text() -> None:
    assert parse(input="hi").text == "hi"


def test_limits_of_the_deployment_are_exact() -> None:
    settings = load_settings(max_text_characters=10, max_audio_seconds=5)
    check_limits(parse(text="x" * 10, max_seconds=5), settings)
    with pytest.raises(ApiError) as refused:
        check_limits(parse(text="x" * 11), settings)
    assert (refused.value.code, refused.value.param) == ("text_too_long", "text")
    with pytest.raises(ApiError) as refused:
        check_limits(parse(text="x", max_seconds=5.01), settings)
    assert refused.value.param == "max_seconds"


def test_a_file_that_is_sent_whole_has_limits_of_its_own() -> None:
    settings = load_settings(max_clip_characters=10, max_clip_seconds=5)
    check_limits(parse(text="x" * 11, max_seconds=6), settings)
    check_limits(parse(text="x" * 10, max_seconds=5), settings, whole=True)
    with pytest.raises(ApiError, match="input has 11 characters, at most 10") as refused:
        check_limits(parse(text="x" * 11), settings, "input", whole=True)
    assert (refused.value.code, refused.value.param) == ("text_too_long", "input")
    with pytest.raises(ApiError, match="at most 5"):
        check_limits(parse(text="x", max_seconds=6), settings, whole=True)


@pytest.mark.parametrize(
    ("message", "status_code", "code"),
    [
        ("", 400, "invalid_json"),
        ("{", 400, "invalid_json"),
        ("[" * 100_000, 400, "invalid_json"),
        ("[]", 422, "invalid_message"),
        ("null", 422, "invalid_message"),
        ('"text"', 422, "invalid_message"),
        ('{"text":"hi","\\ud800":1}', 422, "invalid_body"),
        ('{"text":"hi","format":"wav"}', 422, "invalid_value"),
        ('{"text":"hi","seed":' + "9" * 5000 + "}", 400, "invalid_json"),
    ],
)
def test_a_bad_first_message_is_refused(message: str, status_code: int, code: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_stream_request(message)
    assert (refused.value.status_code, refused.value.code) == (status_code, code)
    assert not re.search("body|sys|recursion|application/json", refused.value.message)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from([*TtsRequest.model_fields, "input", "nonsense"])


@given(st.dictionaries(fields, json_values) | json_values)
def test_whatever_is_sent_it_is_a_request_or_a_named_error(message: object) -> None:
    try:
        request = parse_stream_request(json.dumps(message))
    except ApiError as error:
        assert error.status_code in (400, 422)
        assert error.to_dict()["error"]["message"]
    else:
        assert request.text.strip()
        assert request.format == "pcm"


def test_figures_are_put_into_words_as_the_request_says() -> None:
    assert TtsRequest(text="5").normalize == "auto"
    assert TtsRequest(text="5", normalize="off").normalize == "off"
    with pytest.raises(ValidationError, match="normalize"):
        TtsRequest(text="5", normalize="maybe")
