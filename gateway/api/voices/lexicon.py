"""`/api/lexicon`: how words are said in everything that a client has spoken.

Each client has a lexicon of its own, and there is one of the service (`scope=service`), which everybody sees
who may use the service and administrators change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Depends, Request
from pydantic import BeforeValidator

from gateway.api.permissions import (
    MUTATION,
    check_admin,
    is_admin,
    owner_of,
    tenant_of_admin,
    who_administers,
)
from gateway.bodies import Body
from gateway.errors import ApiError
from gateway.lexicons import SERVICE
from gateway.service import Gateway, GatewayDep
from gateway.text.lexicon import check_entries, check_spoken, check_word

router = APIRouter()

PATH = "/api/lexicon"
MOST_BYTES = 1 << 20
"""Of a whole lexicon."""
UPLOAD_SECONDS = 30.0
Kept = TypeVar("Kept")
Scope = Literal["own", "service"]


def _first_wrong(entries: Any) -> Any:
    """Keeps only the first entry that is no text, if there is one: pydantic would report each."""
    if isinstance(entries, dict):
        wrong = next((word for word, spoken in entries.items() if not isinstance(spoken, str)), None)
        return entries if wrong is None else {wrong: entries[wrong]}
    return entries


class Entries(Body):
    """A whole lexicon."""

    entries: Annotated[dict[str, str], BeforeValidator(_first_wrong)]
    """Words, and what is said for them."""


class Said(Body):
    """One entry."""

    spoken: str


async def _changeable(request: Request, gateway: GatewayDep, scope: Scope = "own") -> str:
    """The owner of the lexicon that is changed. Raises ApiError: 401, 403."""
    if scope == "service":
        check_admin(request, gateway)
        return SERVICE
    return _caller(request, gateway)


Owner = Annotated[str, Depends(_changeable)]


@router.get(PATH)
async def get_lexicon(request: Request, gateway: GatewayDep, scope: Scope = "own") -> dict[str, Any]:
    """The entries; of the service's lexicon also those of its file, before which the others come."""
    if scope == "service":
        if not is_admin(request, gateway):
            gateway.callers.identify(request)
        owner = SERVICE
    else:
        owner = _caller(request, gateway)
    entries = (await gateway.lexicons.store.read(owner)).get(owner, {})
    return _described(gateway, owner, entries)


@router.put(PATH, dependencies=[MUTATION])
async def put_lexicon(body: Entries, owner: Owner, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Have these entries and no others."""
    most = gateway.lexicons.max_entries
    entries = _checked("entries", lambda: check_entries(body.entries, most))
    return _changed(gateway, request, owner, await gateway.lexicons.replace(owner, entries))


@router.delete(PATH, dependencies=[MUTATION])
async def delete_lexicon(owner: Owner, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Forget all entries."""
    return _changed(gateway, request, owner, await gateway.lexicons.replace(owner, {}))


@router.put(f"{PATH}/words/{{word:path}}", dependencies=[MUTATION])
async def put_word(
    word: str, body: Said, owner: Owner, request: Request, gateway: GatewayDep
) -> dict[str, Any]:
    """Add an entry, or change it."""
    kept = _checked("word", lambda: check_word(word))
    spoken = _checked("spoken", lambda: check_spoken(body.spoken))
    return _changed(gateway, request, owner, await gateway.lexicons.set(owner, kept, spoken))


@router.delete(f"{PATH}/words/{{word:path}}", dependencies=[MUTATION])
async def delete_word(word: str, owner: Owner, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Forget one entry."""
    kept = _checked("word", lambda: check_word(word))
    return _changed(gateway, request, owner, await gateway.lexicons.remove(owner, kept))


def _caller(request: Request, gateway: Gateway) -> str:
    """Whose lexicon is the caller's own. Raises ApiError: 401, 403."""
    if is_admin(request, gateway):
        return tenant_of_admin(request, gateway)
    return owner_of(request, gateway)


def _checked(field: str, check: Callable[[], Kept]) -> Kept:
    try:
        return check()
    except ValueError as error:
        raise ApiError(422, "invalid_value", f"{field}: {error}", param=field) from error


def _changed(gateway: Gateway, request: Request, owner: str, entries: dict[str, str]) -> dict[str, Any]:
    """Who changes what everybody hears stands in the log; the words of clients are nobody's business."""
    if owner == SERVICE:
        who = who_administers(request, gateway)
        gateway.operations.log.say("lexicon", "service", "entries", count=len(entries), who=who)
    return _described(gateway, owner, entries)


def _described(gateway: Gateway, owner: str, entries: dict[str, str]) -> dict[str, Any]:
    ordered = dict(sorted(entries.items(), key=lambda entry: (entry[0].casefold(), entry[0])))
    found: dict[str, Any] = {"entries": ordered, "max_entries": gateway.lexicons.max_entries}
    return {**found, "of_file": gateway.lexicons.of_file} if owner == SERVICE else found
