"""Which software a client says that it is."""

from __future__ import annotations

import pytest

from gateway.callers.software import software_of


@pytest.mark.parametrize(
    ("header", "software"),
    [
        ("OpenAI/Python 1.99.1", "OpenAI/Python 1.99.1"),
        ("python-httpx/0.28.1", "python-httpx 0.28.1"),
        ("curl/8.5.0", "curl 8.5.0"),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/126.0.0.0 Safari/537.36", "Chrome 126"),
        ("Mozilla/5.0 (Windows) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.1", "Edge 126"),
        ("Mozilla/5.0 (X11; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox 128"),
        ("Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/17.5 Safari/605.1.15", "Safari 17"),
        ("Mozilla/5.0 (a key: sk-0123456789abcdef)", ""),
        ("sk-0123456789abcdef", ""),
        ("shop/sk-0123456789abcdef", ""),
        ("shop/1.0-0123456789abcdef", ""),
        ("<img src=x onerror=alert(1)>/1.0", ""),
        ("x" * 10_000 + "/1.0", ""),
        ("", ""),
    ],
)
def test_of_a_clients_software_a_name_and_a_version_are_told(header: str, software: str) -> None:
    assert software_of(header) == software
