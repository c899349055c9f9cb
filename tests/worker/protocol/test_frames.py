"""The binary frame: what is encoded comes back, and nothing else is ever taken for a frame."""

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.speech import SpeechOutput
from worker.kinds.speech import to_frame
from worker.protocol import StartRequest
from worker.protocol.frames import (
    FINISH_REASONS,
    FLAWS,
    HEADER_BYTES,
    MAX_FRAME_BYTES,
    Frame,
    FrameKind,
    ProtocolError,
    decode_frame,
    encode_frame,
)
from worker.protocol.token_facts import MOST_TOP_LOGPROBS, TokenFacts, TokenLogprob

unsigned32 = st.integers(0, 2**32 - 1)
request_ids = st.from_regex(r"\A[A-Za-z0-9_-]{1,64}\Z")
reasons = st.sampled_from(FINISH_REASONS[1:])


likely = {"token": st.text(max_size=3), "data": st.just((195,)), "logprob": st.floats(-9999, 0)}


def facts() -> st.SearchStrategy[TokenFacts]:
    top = st.lists(st.builds(TokenLogprob, **likely), max_size=2).map(tuple)
    return st.builds(TokenFacts, **likely, top=top)


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    kind = draw(st.sampled_from(FrameKind))
    last = {FrameKind.HEARTBEAT: False, FrameKind.FINAL: True}.get(kind, draw(st.booleans()))
    has_patch, has_text = kind is FrameKind.AUDIO, kind is FrameKind.TEXT
    tokens = tuple(draw(st.lists(unsigned32, min_size=1, max_size=4))) if has_text else ()
    told = draw(st.lists(facts(), min_size=len(tokens), max_size=len(tokens))) if has_text else []
    return Frame(
        kind=kind,
        request_id=draw(request_ids),
        attempt=draw(unsigned32),
        sequence=draw(unsigned32),
        step=draw(st.integers(0, 2**64 - 1)),
        latents=4 * draw(st.binary(min_size=1, max_size=64)) if has_patch else b"",
        pcm=2 * draw(st.binary(min_size=1, max_size=64)) if has_patch else b"",
        last=last,
        finish_reason=draw(reasons) if last else None,
        flaw=draw(st.sampled_from(FLAWS)) if has_patch else "",
        silent=has_patch and draw(st.booleans()),
        tokens=tokens,
        text=draw(st.text(max_size=8)) if has_text else "",
        facts=tuple(told) if draw(st.booleans()) else (),
    )


PATCH = Frame(FrameKind.AUDIO, "r1", 1, 0, 5, latents=bytes(1024), pcm=bytes(15360))


A_WORD = {"kind": FrameKind.TEXT, "pcm": b"", "latents": b"", "tokens": (1,), "text": "Hi"}
"""Changes that make it a frame of text."""


@given(frames())
def test_a_frame_survives_the_wire(frame: Frame) -> None:
    assert decode_frame(encode_frame(frame)) == frame


@given(frames(), st.data())
def test_a_frame_with_one_changed_byte_is_refused(frame: Frame, data: st.DataObject) -> None:
    encoded = bytearray(encode_frame(frame))
    encoded[data.draw(st.integers(0, len(encoded) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ProtocolError):
        decode_frame(bytes(encoded))


@given(frames(), st.data())
def test_a_frame_cut_short_or_grown_is_refused(frame: Frame, data: st.DataObject) -> None:
    encoded = encode_frame(frame)
    cut = encoded[: data.draw(st.integers(0, len(encoded) - 1))]
    for wrong in (cut, encoded + data.draw(st.binary(min_size=1, max_size=8))):
        with pytest.raises(ProtocolError):
            decode_frame(wrong)


@given(st.binary(max_size=300))
def test_random_bytes_are_never_a_frame(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_frame(data)


@given(frames(), st.integers(4, HEADER_BYTES - 5), st.integers(0, 255), st.binary(max_size=12))
def test_whatever_a_correct_checksum_covers_is_a_frame_that_could_be_sent_or_refused(
    frame: Frame, position: int, value: int, tail: bytes
) -> None:
    header = bytearray(encode_frame(frame)[: HEADER_BYTES - 4])
    payload = encode_frame(frame)[HEADER_BYTES:] + tail
    header[position] = value
    forged = bytes(header) + struct.pack("<I", zlib.crc32(payload, zlib.crc32(header))) + payload
    try:
        decoded = decode_frame(forged)
    except ProtocolError:
        return
    assert encode_frame(decoded) == forged


@pytest.mark.parametrize(
    "changes",
    [
        {"request_id": ""},
        {"request_id": "a" * 65},
        {"request_id": "a b"},
        {"request_id": "r1\n"},
        {"request_id": "ä"},
        {"attempt": -1},
        {"attempt": 2**32},
        {"sequence": 2**32},
        {"step": 2**64},
        {"pcm": b"123"},
        {"pcm": b""},
        {"latents": b"12345"},
        {"latents": b""},
        {"last": True},
        {"finish_reason": "stop"},
        {"last": True, "finish_reason": "bored"},
        {"flaw": "boring"},
        {"kind": FrameKind.HEARTBEAT, "pcm": b"", "latents": b"", "silent": True},
        {
            "kind": FrameKind.FINAL,
            "pcm": b"",
            "latents": b"",
            "last": True,
            "finish_reason": "stop",
            "flaw": "long",
        },
        {"kind": FrameKind.HEARTBEAT},
        {"kind": FrameKind.HEARTBEAT, "pcm": b"", "latents": b"", "last": True, "finish_reason": "stop"},
        {"kind": FrameKind.FINAL, "pcm": b"", "latents": b""},
        {"pcm": bytes(MAX_FRAME_BYTES)},
        {"text": "Hi."},
        {"tokens": (1,)},
        {"kind": FrameKind.TEXT, "tokens": (1,)},
        {**A_WORD, "tokens": ()},
        {**A_WORD, "tokens": (2**32,)},
        {**A_WORD, "tokens": (1, 2), "facts": (TokenFacts(token="a", data=(97,), logprob=0.0),)},
        {**A_WORD, "silent": True},
        {**A_WORD, "text": "\ud800"},
        {**A_WORD, "text": "a" * MAX_FRAME_BYTES},
    ],
)
def test_a_frame_that_breaks_a_rule_is_not_encoded(changes: dict) -> None:
    with pytest.raises(ProtocolError):
        encode_frame(replace(PATCH, **changes))


def test_the_header_has_the_documented_size() -> None:
    assert HEADER_BYTES == 100
    assert len(encode_frame(PATCH)) == 16_484


@pytest.mark.parametrize("reason", ["stop", None])
@pytest.mark.parametrize(("asked", "told"), [(True, ("noisy", True)), (None, ("", False))])
def test_flaws_and_silence_are_told_to_who_asks(
    asked: bool | None, told: tuple[str, bool], reason: str | None
) -> None:
    audio, latents = np.zeros(8, np.float32), np.zeros((1, 4), np.float32)
    output = SpeechOutput("r1.1", 0, audio, latents, reason, flaw="noisy", silent=True)
    start = StartRequest(request_id="r1", text="Hi.", seed=1, watch=asked)
    frame = decode_frame(encode_frame(to_frame(output, start, step=1)))
    assert (frame.flaw, frame.silent) == told


def test_a_token_may_be_told_with_so_many_likely_ones_and_no_more() -> None:
    likely = TokenLogprob(token="a", data=(97,), logprob=-1.0)
    frame = replace(PATCH, **A_WORD)
    for count in (MOST_TOP_LOGPROBS, MOST_TOP_LOGPROBS + 1):
        told = TokenFacts.model_construct(token="a", data=(97,), logprob=-1.0, top=(likely,) * count)
        encoded = encode_frame(replace(frame, facts=(told,)))
        if count > MOST_TOP_LOGPROBS:
            with pytest.raises(ProtocolError):
                decode_frame(encoded)
        else:
            assert decode_frame(encoded).facts == (told,)
