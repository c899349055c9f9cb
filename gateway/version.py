"""The version of the installed distribution."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed_version() -> str:
    try:
        return version("voxfleet")
    except PackageNotFoundError:
        return "unknown"


VERSION = _installed_version()
