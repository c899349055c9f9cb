"""A test that is tried once more gets the fixtures of its file anew.

pytest-rerunfailures keeps them, and so whatever the first try left behind in a gateway, a browser or a log.
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if getattr(item, "execution_count", 1) > 1 and isinstance(item, pytest.Function):
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for definition in definitions:
                if definition.scope in ("class", "module"):
                    definition.finish(item._request)  # and with it whatever was made of it
