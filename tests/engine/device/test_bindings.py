"""What calls of CUDA answer."""

from __future__ import annotations

from enum import IntEnum

import pytest

from engine.device.bindings import given


class Answer(IntEnum):
    """As the enumerations of `cuda.bindings`."""

    SUCCESS = 0
    OUT_OF_MEMORY = 2


def test_an_answer_is_what_stands_beside_success() -> None:
    assert given((Answer.SUCCESS, 3, "x")) == (3, "x")
    assert given((Answer.SUCCESS,)) == ()


def test_a_code_of_failure_is_named() -> None:
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        given((Answer.OUT_OF_MEMORY, None))
