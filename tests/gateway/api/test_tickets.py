"""`/api/queue`: who hears of a ticket, and who may cancel it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from gateway.app import create_app
from gateway.settings import load_settings
from gateway.slots.line.standing import Standing
from gateway.slots.requirement import Requirement
from tests.gateway.callers.keys import ACME, KEYS, LIMITED
from tests.gateway.stages.fleet import status


def client_at(app: FastAPI, peer: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=(peer, 50000))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


async def ask_about(app: FastAPI, ticket_id: str, peer: str, **headers: str) -> httpx.Response:
    async with client_at(app, peer) as client:
        return await client.get(f"/api/queue/{ticket_id}", headers=headers)


async def cancel(app: FastAPI, ticket_id: str, peer: str, **headers: str) -> httpx.Response:
    async with client_at(app, peer) as client:
        return await client.delete(f"/api/queue/{ticket_id}", headers=headers)


def serving_app(**options: Any) -> FastAPI:
    """Of a gateway that believes in a worker with one slot."""
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", **options))
    pool = app.state.gateway.pool
    pool.reports.answered(next(iter(pool.workers.values())), status())
    return app


for_who_may = pytest.mark.parametrize(
    ("tenant", "headers"),
    [
        ("10.0.0.7", {}),
        ("key:acme", {"X-API-Key": ACME}),
        ("10.9.9.9", {"X-Admin-Token": "the-administrators"}),
    ],
)
"""Whose ticket it is, and what its client, or an administrator, sends."""


@for_who_may
async def test_its_client_and_an_administrator_may_cancel_a_ticket(tenant: str, headers: dict) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    pool = app.state.gateway.pool
    with pool.admit("r", Requirement(), standing=Standing(tenant)) as ticket:
        response = await cancel(app, ticket.id, "10.0.0.7", **headers)
        assert response.status_code == 200
        assert ticket.ended_by.code == "cancelled"


@for_who_may
async def test_its_client_and_an_administrator_hear_how_a_ticket_stands(tenant: str, headers: dict) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    pool, standing = app.state.gateway.pool, Standing(tenant)
    with pool.admit("r1", Requirement(), standing=standing) as one:
        with pool.admit("r2", Requirement(), standing=standing) as other:
            for ticket, state, position in ((one, "running", None), (other, "queued", 1)):
                told = (await ask_about(app, ticket.id, "10.0.0.7", **headers)).json()
                assert (told["ticket_id"], told["state"], told["position"]) == (ticket.id, state, position)
                assert (told["eta_seconds"] is None) is (position is None)
        gone = await ask_about(app, other.id, "10.0.0.7", **headers)
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "unknown_ticket")


@pytest.mark.parametrize("call", [ask_about, cancel])
@pytest.mark.parametrize(
    ("headers", "status_code"),
    [
        ({}, 404),
        ({"X-API-Key": LIMITED}, 404),
        ({"X-Forwarded-For": "10.0.0.8"}, 404),
        ({"Origin": "http://evil.example", "X-API-Key": ACME}, 404),
        ({"X-API-Key": "nobody-0123456789abcdef"}, 401),
        ({"X-Admin-Token": "not-the-administrators"}, 401),
    ],
)
async def test_for_others_there_is_no_such_ticket(headers: dict, status_code: int, call: Any) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    with app.state.gateway.pool.admit("r", Requirement(), standing=Standing("key:acme")) as ticket:
        answers = [await call(app, id, "10.0.0.7", **headers) for id in (ticket.id, "q_none")]
        assert [answer.status_code for answer in answers] == [status_code, status_code]
        assert answers[0].text.replace(ticket.id, "q_none") == answers[1].text
        assert ticket.ended_by is None


async def test_of_a_request_that_has_ended_its_client_hears_that_there_is_none() -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    with app.state.gateway.pool.admit("r", Requirement(), standing=Standing("key:acme")) as ticket:
        pass
    for call in (ask_about, cancel):
        answer = await call(app, ticket.id, "10.0.0.7", **{"X-API-Key": ACME})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "unknown_ticket")


@pytest.mark.parametrize(
    ("headers", "cancelled"),
    [({"X-Admin-Token": "the-administrators"}, 2), ({"X-API-Key": ACME}, 0), ({}, 0)],
)
async def test_an_administrator_cancels_several_at_once(headers: dict, cancelled: int) -> None:
    app = serving_app(api_keys=KEYS, admin_token="the-administrators")
    pool = app.state.gateway.pool
    with (
        pool.admit("a", Requirement(), standing=Standing("key:acme")) as first,
        pool.admit("b", Requirement()) as second,
        pool.admit("c", Requirement()) as third,
    ):
        chosen = {"tickets": [first.id, "q_none", second.id, first.id]}
        async with client_at(app, "10.0.0.7") as client:
            response = await client.post("/api/queue/cancel", json=chosen, headers=headers)
            refused = await client.post("/api/queue/cancel", json={"tickets": ["q"] * 1001}, headers=headers)
        assert response.status_code == (200 if cancelled else 401)
        assert sum(ticket.ended_by is not None for ticket in (first, second, third)) == cancelled
        assert third.ended_by is None
        assert refused.status_code == (422 if cancelled else 401)
        if cancelled:
            assert response.json() == {"cancelled": [first.id, second.id]}
