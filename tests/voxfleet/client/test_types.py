"""What a type checker of a program that uses the client goes by."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncGenerator, Generator
from inspect import signature
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest

import voxfleet
from voxfleet.client import (
    AsyncClient,
    AsyncTrainings,
    ChatStream,
    Client,
    LiveSession,
    SyncChatStream,
    SyncLiveSession,
    SyncTrainings,
    stream_speech,
)

PYPROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        (stream_speech, AsyncGenerator),
        (AsyncClient.stream, AsyncGenerator),
        (ChatStream.__aiter__, AsyncGenerator),
        (LiveSession.__aiter__, AsyncGenerator),
        (AsyncTrainings.follow, AsyncGenerator),
        (Client.stream, Generator),
        (SyncChatStream.__iter__, Generator),
        (SyncLiveSession.__iter__, Generator),
        (SyncTrainings.follow, Generator),
    ],
)
def test_what_is_iterated_may_be_closed(method: object, kind: type) -> None:
    """As `contextlib.aclosing` and `closing` ask for."""
    assert get_origin(get_type_hints(method)["return"]) is kind


@pytest.mark.parametrize(("one", "other"), [(AsyncClient, Client), (AsyncTrainings, SyncTrainings)])
def test_both_forms_have_the_same_methods(one: type, other: type) -> None:
    def taken(kind: type) -> dict[str, list[Any]]:
        public = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
        return {
            name: [each.replace(annotation=None) for each in signature(value).parameters.values()]
            for name, value in public.items()
            if name != "stream_chat"  # whose overloads say the same
        }

    assert taken(one) == taken(other)


def test_both_clients_are_made_alike() -> None:
    """So that a type checker tells of a misspelt option of either."""
    assert signature(Client) == signature(AsyncClient)


def test_the_package_says_that_it_has_types() -> None:
    package_data = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    for name in package_data["voxfleet"]:
        assert (Path(voxfleet.__file__).parent / name).is_file()
    assert "py.typed" in package_data["voxfleet"]
