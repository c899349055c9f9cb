"""A model and an adapter in one name."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.adapters.naming import named_model


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        (None, {"model": None}),
        ("bundled", {"model": "bundled"}),
        ("bundled:anna", {"model": "bundled", "adapter": "anna"}),
        ("bundled:anna:2", {"model": "bundled", "adapter": "anna:2"}),
        ("a:b", {"model": "a:b"}),
        ("a:b:c", {"model": "a:b", "adapter": "c"}),
        ("bundled:", {"model": "bundled:"}),
        (":", {"model": ":"}),
        ("tts-1", {"model": None}),
        ("tts-1:anna", {"model": None, "adapter": "anna"}),
        ("tts-1:anna:2", {"model": None, "adapter": "anna:2"}),
    ],
)
def test_what_stands_behind_a_model_is_an_adapter(name: str | None, meant: dict[str, Any]) -> None:
    assert named_model(name, {"bundled", "a:b"}) == meant
