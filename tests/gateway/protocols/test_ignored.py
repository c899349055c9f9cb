"""Clients hear of every field that nothing was done with."""

from __future__ import annotations

import pytest

from gateway.protocols.ignored import ignored_fields


@pytest.mark.parametrize(
    ("names", "header"),
    [
        (["user", "lang_code", "user"], "lang_code, user"),
        (["user", "größe", "a, b"], "user, 2 more"),
        (["x" * 65], "1 more"),
        (list("abcdefghijklmnopqrstuv"), ", ".join("abcdefghijklmnopqrst") + ", 2 more"),
    ],
)
def test_those_that_cannot_be_named_are_counted(names: list[str], header: str) -> None:
    assert ignored_fields(names) == {"X-Ignored-Fields": header}


def test_without_any_there_is_no_header() -> None:
    assert ignored_fields([]) == {}
