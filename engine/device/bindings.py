"""NVIDIA's bindings for Python, which come with torch's builds for CUDA: calls that PyTorch has no words for.

if bindings.are_known():
    (module,) = bindings.given(bindings.driver.cuModuleLoadData(image))
"""

from __future__ import annotations

from functools import cache
from typing import Any

try:
    from cuda.bindings import driver, nvrtc, runtime
except ImportError:
    driver = nvrtc = runtime = None

_KNOWN = "13."
"""Calls take other arguments in other ones."""


@cache
def are_known() -> bool:
    """Whether they are there, in a version whose calls are known."""
    if driver is None:
        return False
    from cuda.bindings import __version__

    return bool(__version__.startswith(_KNOWN))


def given(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a call gives beside its code. Raises RuntimeError, naming the code, unless that is success."""
    error, *found = answer
    if int(error) != 0:
        raise RuntimeError(f"CUDA: {error.name}")
    return tuple(found)
