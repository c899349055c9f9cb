"""The header that says to which trace a request belongs: read as the W3C says, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import TraceContext
from worker.protocol import InvalidFieldError, StartRequest, decode_client_message

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("header", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f"00-{TRACE}-{SPAN}-03", True),
        (f"cc-{TRACE}-{SPAN}-01-what-comes-later", True),
    ],
)
def test_a_header_is_read(header: str, sampled: bool) -> None:
    assert TraceContext.parse(header) == TraceContext(int(TRACE, 16), int(SPAN, 16), sampled)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{SPAN}-01\n",
        f"cc-{TRACE}-{SPAN}-01-{'x' * 100}",
    ],
)
def test_anything_else_is_none(header: str) -> None:
    assert TraceContext.parse(header) is None


@given(st.text())
def test_no_text_is_an_error(header: str) -> None:
    assert TraceContext.parse(header) is None


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans())
def test_what_is_written_is_read_and_may_cross_to_a_worker(trace: int, span: int, sampled: bool) -> None:
    context = TraceContext(trace, span, sampled)
    assert TraceContext.parse(str(context)) == context
    start = StartRequest(request_id="r", text="t", seed=1, traceparent=str(context))
    assert decode_client_message(start.model_dump_json(exclude_none=True)).traceparent == str(context)


@pytest.mark.parametrize("wrong", ["", "x", f"00-{TRACE}-{SPAN}-01\\n", f"01-{TRACE}-{SPAN}-01", 7])
def test_a_worker_refuses_what_is_none(wrong: object) -> None:
    value = f'"{wrong}"' if isinstance(wrong, str) else str(wrong)
    with pytest.raises(InvalidFieldError, match="traceparent"):
        decode_client_message(
            f'{{"type":"start","request_id":"r","text":"t","seed":1,"traceparent":{value}}}'
        )
