"""`/api/adapters`: sending adapters, looking at them, changing what is said of them, deleting them.

Who may do what is as for voices: everybody who may use the service sees and uses adapters with consent, their
owners and administrators see the others, and change and delete.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from gateway.adapters.catalog import describe, describe_all, listed
from gateway.adapters.fields import AdapterChange, read_form
from gateway.api.permissions import MUTATION, is_admin, tenant_or_none, who_changes
from gateway.api.transfer.repeats import KeyDep, asked_with
from gateway.api.transfer.upload import ADAPTER_PATH, uploaded
from gateway.database import Adapter
from gateway.database.repeats import made_once
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.voices.catalog import is_of
from gateway.voices.consent import ADAPTER_STATEMENTS, statement_in

router = APIRouter(prefix=ADAPTER_PATH)


@router.get("")
async def list_adapters(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """The adapters that the caller may see."""
    tenant, admin = _viewer(request, gateway)
    rows = await gateway.adapters.visible_to(tenant, admin)
    return {"adapters": listed(gateway.pool, rows, tenant)}


@router.get("/consent")
async def get_adapter_consent(language: Annotated[str, Query(max_length=16)] = "en") -> dict[str, str]:
    """What is agreed to whoever's voice an adapter speaks with; to be sent as `consent_statement`."""
    statement, language = statement_in(language, ADAPTER_STATEMENTS)
    return {"statement": statement, "language": language}


@router.post("", status_code=201, dependencies=[MUTATION])
async def create_adapter(request: Request, gateway: GatewayDep, key: KeyDep = None) -> dict[str, Any]:
    """A new adapter from multipart/form-data: the file `weights`, `config` with what its configuration file
    says, and `name`.
    """
    async with uploaded(request, gateway, "weights", gateway.settings.max_adapter_bytes) as sent:
        file, fields, owner = sent
        form, asked = read_form(fields), await asked_with(key, owner, fields, file)

        async def make() -> Adapter:
            adapter = await gateway.adapters.create(file, form, owner, asked=asked)
            _say(gateway, adapter, "adapter_added", owner)
            return adapter

        adapter = await made_once(gateway.database, Adapter, asked, make)
    return describe_all(gateway.pool, adapter, owner)


@router.get("/{id}")
async def get_adapter(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One adapter; owners and administrators see its digest and its consent too."""
    tenant, admin = _viewer(request, gateway)
    adapter = await gateway.adapters.get(id, tenant, admin)
    show = describe_all if admin or is_of(adapter, tenant) else describe
    return show(gateway.pool, adapter, tenant)


@router.patch("/{id}", dependencies=[MUTATION])
async def change_adapter(
    id: str, change: AdapterChange, request: Request, gateway: GatewayDep
) -> dict[str, Any]:
    """Change what is said of an adapter; its weights stay. `consent_by: null` withdraws the consent."""
    adapter, tenant = await _own(id, request, gateway)
    adapter = await gateway.adapters.change(adapter, change)
    if "consent_by" in change.model_fields_set:
        done = "withdrawn" if change.consent_by is None else "given"
        _say(gateway, adapter, f"adapter_consent_{done}", tenant)
    return describe_all(gateway.pool, adapter, tenant)


@router.delete("/{id}", dependencies=[MUTATION])
async def delete_adapter(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Delete an adapter. Clips that are being spoken with it are finished."""
    adapter, tenant = await _own(id, request, gateway)
    await gateway.adapters.remove(id)
    _say(gateway, adapter, "adapter_deleted", tenant)
    return {"id": id, "deleted": True}


def _say(gateway: Gateway, adapter: Adapter, saying: str, owner: str) -> None:
    gateway.operations.log.say("adapter", adapter.id, saying, owner=owner, adapter=adapter.id)


def _viewer(request: Request, gateway: Gateway) -> tuple[str | None, bool]:
    """Who looks, and whether as an administrator. Raises ApiError 401 for who may not use the service."""
    admin = is_admin(request, gateway)
    if not admin:
        gateway.callers.identify(request)
    return tenant_or_none(request, gateway), admin


async def _own(id: str, request: Request, gateway: Gateway) -> tuple[Adapter, str]:
    """An adapter that the caller may change, and who that is. Raises ApiError: 401, 403, 404."""
    tenant, admin = who_changes(request, gateway)
    adapter = await gateway.adapters.get(id, tenant, admin)
    if not admin and adapter.owner != tenant:
        raise ApiError(403, "not_the_owner", "only its owner may change or delete an adapter", param="id")
    return adapter, tenant
