"""Messages of the wire, and what importing them costs."""

import dataclasses
import json
import subprocess
import sys
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from models import speech
from models.speech import FINISH_REASONS, Flaw, ModelInfo, VoiceInfo
from models.voxcpm.checkpoint import NUMBERS
from tests.forks import REPOSITORY
from worker import protocol
from worker.engines.synthetic import INFO
from worker.protocol import (
    Accepted,
    CancelRequest,
    ErrorDetail,
    ErrorMessage,
    InvalidFieldError,
    Latents,
    ModelDescription,
    Paused,
    ProtocolError,
    StartRequest,
    WorkerStatus,
    decode_client_message,
    decode_server_message,
    frames,
)

START = {"type": "start", "request_id": "r1", "text": "Hello.", "seed": 7}
CANARY = "canary-7f3a"


def test_messages_survive_the_wire() -> None:
    latents = Latents(shape=(1, 2, 2), data=bytes(range(16)))
    start = StartRequest(**START, attempt=2, cfg_value=2, max_seconds=1.5, resume_latents=latents)
    for message in (start, CancelRequest()):
        assert decode_client_message(message.model_dump_json()) == message
    accepted = Accepted(
        request_id="r1", attempt=1, worker_id="w", boot_id="b", model_revision="m", sample_rate=24_000
    )
    error = ErrorDetail(message="no", type="capacity_error", code="busy")
    for message in (accepted, ErrorMessage(request_id="r1", attempt=1, error=error)):
        assert decode_server_message(message.model_dump_json()) == message


STATUS = {
    "worker_id": "w", "boot_id": "b", "state": "IDLE", "slots_total": 1, "slots_used": 0,
    "device": "cpu", "pid": 1, "step": 0, "uptime_seconds": 1.0, "memory_bytes": 1,
}  # fmt: skip


def test_workers_of_other_versions_may_say_no_build_or_more_than_is_known() -> None:
    assert WorkerStatus.model_validate(STATUS).build == ""
    newer = {**STATUS, "build": "0.2.0+0123456789ab", "of_tomorrow": {"a": 1}}
    assert WorkerStatus.model_validate(newer).build == "0.2.0+0123456789ab"


@pytest.mark.parametrize("build", ["x" * 65, "0.1.0 forged", "0.1.0\n", "<b>", "0.1.0\x1b[2J", 1, None])
def test_a_build_is_short_and_plain(build: object) -> None:
    with pytest.raises(ValidationError):
        WorkerStatus.model_validate({**STATUS, "build": build})


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"text": 5}, "text"),
        ({"text": None}, "text"),
        ({"seed": "7"}, "seed"),
        ({"seed": 7.5}, "seed"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"request_id": "../etc"}, "request_id"),
        ({"request_id": "r1\n"}, "request_id"),
        ({"request_id": ""}, "request_id"),
        ({"attempt": 2**32}, "attempt"),
        ({"cfg_value": True}, "cfg_value"),
        ({"cfg_value": "2"}, "cfg_value"),
        ({"temperature": float("nan")}, "temperature"),
        ({"max_seconds": float("inf")}, "max_seconds"),
        ({"inference_timesteps": 10.0}, "inference_timesteps"),
        ({"voices": "slt"}, "voices"),
        ({"resume_latents": {"shape": [1, 1, 1], "data": "AAAA"}}, "resume_latents"),
        ({"resume_latents": {"shape": [1, 1], "data": ""}}, "resume_latents.shape.2"),
        ({"resume_latents": {"shape": [-1, 1, 1], "data": ""}}, "resume_latents.shape.0"),
        ({"resume_latents": {"shape": [1, 1, 1], "data": "@@@@"}}, "resume_latents.data"),
        ({"resume_latents": [[[0.0]]]}, "resume_latents"),
    ],
)
def test_a_wrong_field_is_named_and_no_value_is_quoted(changes: dict, param: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        decode_client_message(json.dumps({**START, "text": CANARY, **changes}))
    assert caught.value.param == param
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("name", ["request_id", "text", "seed"])
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(InvalidFieldError) as caught:
        decode_client_message(json.dumps({key: value for key, value in START.items() if key != name}))
    assert caught.value.param == name


@pytest.mark.parametrize("tiny", ["[],", "{},"])
def test_a_gateway_s_million_lists_are_not_read(tiny: str) -> None:
    """Errors of pydantic had copies of them, for which a worker said nothing to anybody for three seconds."""
    with pytest.raises(ProtocolError, match="at most 10000 lists and objects"):
        decode_client_message('{"type": "start", "x": [' + tiny * 10_000 + "0]}")
    texts = json.dumps({**START, "text": tiny * 10_000})
    assert decode_client_message(texts).text == tiny * 10_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


@given(
    st.text()
    | json_values.map(json.dumps)
    | json_values.map(lambda value: json.dumps({**START, "text": value}))
)
def test_any_text_is_a_message_or_a_protocol_error(text: str) -> None:
    try:
        message = decode_client_message(text)
    except ProtocolError:
        return
    assert isinstance(message, StartRequest | CancelRequest)


def test_what_a_message_says_is_kept_nowhere() -> None:
    paused = Paused(request_id="r-1", attempt=1).model_dump_json()
    assert decode_server_message(paused).request_id is not decode_server_message(paused).request_id
    start = StartRequest(request_id="r-1", text="Said once.", seed=1).model_dump_json()
    assert decode_client_message(start).text is not decode_client_message(start).text


def test_the_wire_describes_every_field_of_a_model() -> None:
    assert set(ModelDescription.model_fields) == {field.name for field in dataclasses.fields(ModelInfo)}
    assert ModelInfo.from_dict(INFO.to_dict()) == INFO
    assert ModelInfo.from_dict(json.loads(ModelDescription(**INFO.to_dict()).model_dump_json())) == INFO
    assert ModelDescription(**INFO.to_dict()).patch_seconds == INFO.patch_seconds == 0.16
    told = dataclasses.replace(INFO, voice_details=(VoiceInfo("default", "en", "A calm man", ("calm",)),))
    assert ModelInfo.from_dict(json.loads(ModelDescription(**told.to_dict()).model_dump_json())) == told


def test_whatever_a_checkpoint_may_say_is_believed() -> None:
    for name, bounds in NUMBERS.items():
        if name in ModelDescription.model_fields:
            value = int(bounds.high) if bounds.whole else bounds.high
            ModelDescription(**INFO.to_dict() | {name: value})


def test_every_finish_reason_of_an_engine_has_a_code() -> None:
    assert set(frames.FINISH_REASONS[1:]) == set(FINISH_REASONS)


def test_both_sides_call_flaws_by_the_same_names() -> None:
    assert get_args(Flaw) == frames.FLAWS
    assert protocol.WATCHED == speech.WATCHED


def imported_by(module: str) -> set[str]:
    code = f"import {module}, sys; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    listing = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return set(listing.stdout.split())


def test_the_protocol_needs_pydantic_and_nothing_else() -> None:
    heavy = {"numpy", "torch", "fastapi", "starlette", "engine", "models", "structlog", "soundfile"}
    assert not imported_by("worker.protocol") & heavy


def test_a_synthetic_worker_has_no_torch() -> None:
    assert "torch" not in imported_by("worker.cli")
