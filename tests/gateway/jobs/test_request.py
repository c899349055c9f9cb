"""What a job may be asked for: of a wrong chapter the field is named that is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gateway.errors import from_validation
from gateway.jobs.request import JobRequest


def chapters(*, times: int = 1, **fields: Any) -> dict[str, Any]:
    return {"chapters": [fields] * times}


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"format": "x"}, "format", "'m4b'"),
        (chapters(title="a", start=-1), "chapters.0.start", "greater than or equal to 0"),
        (chapters(title="a"), "chapters.0.start", "required"),
        (chapters(title="", start=0), "chapters.0.title", "at least 1 character"),
        (chapters(title="a" * 201, start=0), "chapters.0.title", "at most 200 characters"),
        (chapters(title="a", start=0, end=1), "chapters.0.end", "unknown field"),
        (chapters(title="a", start=0, times=5000), "chapters", "at most 500 items"),
        ({"chapters": "all"}, "chapters", "'auto' or 'none'"),
        ({"chapters": None}, "chapters", "'auto' or 'none'"),
        ({"title": "a" * 161}, "title", "at most 160 characters"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], param: str, said: str) -> None:
    with pytest.raises(ValidationError) as refused:
        JobRequest.model_validate({"text": "Hello there.", **fields})
    error = from_validation(refused.value.errors())
    assert error.param == param
    assert error.message.startswith(("unknown field: ", f"{param}: ")) and said in error.message


@pytest.mark.parametrize("given", ["auto", "none", [], [{"title": "a", "start": 0}]])
def test_chapters_are_found_or_named(given: Any) -> None:
    order = JobRequest.model_validate({"text": "Hello there.", "chapters": given})
    assert order.model_dump()["chapters"] == given
