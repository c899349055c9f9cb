"""What a client may say, and what is refused by name."""

from __future__ import annotations

import pytest

from gateway.errors import ApiError
from gateway.live.messages import parse_command, parse_start


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ('{"type":"append"}', "text"),
        ('{"type":"append","text":1}', "text"),
        ('{"type":"cancel","played_samples":-1}', "played_samples"),
        ('{"type":"pause","now":true}', "now"),
        ('{"type":"shout"}', "type"),
        ("{}", "type"),
    ],
)
def test_a_wrong_message_is_refused_by_the_name_of_its_field(message: str, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_command(message)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ('{"type":"append","text":"x"}', "type"),
        ('{"type":"start","format":"wav"}', "format"),
        ('{"type":"start","cfg_value":11}', "cfg_value"),
        ("[]", None),
        ("{", None),
    ],
)
def test_a_wrong_start_is_refused_too(message: str, param: str | None) -> None:
    with pytest.raises(ApiError) as caught:
        parse_start(message)
    assert caught.value.param == param
