"""S29: what a text worker has cached of a prompt makes no other client's answer begin sooner."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from gateway.answers.answer import Answer
from gateway.answers.order import AnswerOrder
from gateway.errors import ApiError
from gateway.protocols.openai import answers
from tests.gateway.stages.processes import GatewayProcess, check_error, started_fleets
from tests.security.apps import Opened, running_app
from tests.text_models import random_model
from tests.worker.harness import WorkerProcess
from worker.protocol import CACHE_SALT

CHAT = "/v1/chat/completions"
KEYS = {name: {"key": f"the-key-of-{name}-0123456789"} for name in ("ann", "bob")}
ANN, BOB = ({"X-API-Key": KEYS[name]["key"]} for name in KEYS)
NOBODY: dict[str, str] = {}
PROMPT = "A beginning of several blocks. " * 10
ASKED = {"messages": [{"role": "user", "content": PROMPT}], "max_tokens": 1, "seed": 3}
WORKER = SimpleNamespace(model=SimpleNamespace(features=(CACHE_SALT,)))
LEASE: Any = SimpleNamespace(epoch=1, ticket=SimpleNamespace(id="q_1"), worker=WORKER)


@dataclass
class Fleet:
    """A gateway, and the one worker that it has."""

    gateway: GatewayProcess
    worker: WorkerProcess

    async def cached(self, client: dict[str, str], **fields: Any) -> int:
        """How many positions of the prompt were not computed for this request."""
        before = self.worker.health().counters.kv_device_positions
        async with self.gateway.http(headers=client) as http:
            answer = await http.post(CHAT, json=ASKED | fields)
        assert answer.status_code == 200, answer.text
        return self.worker.health().counters.kv_device_positions - before


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    model = random_model(tmp_path_factory.mktemp("models") / "tiny")
    with started_fleets() as start:
        worker = start.worker(model=str(model), device="cpu", slots=4, step_ms=0)
        settings = {"data_dir": tmp_path_factory.mktemp("kept"), "api_keys": json.dumps(KEYS)}
        yield Fleet(start.gateway([worker], **settings).wait_until_serving(1), worker)


async def test_a_prompt_is_cached_for_its_client_alone(fleet: Fleet) -> None:
    for client in (ANN, BOB, NOBODY):
        assert await fleet.cached(client) == 0
        assert await fleet.cached(client) > len(PROMPT) / 2


async def test_who_asks_for_several_users_keeps_them_apart(fleet: Fleet) -> None:
    await fleet.cached(ANN)
    for salt in ("one", "two", "zwölf"):
        assert await fleet.cached(ANN, cache_salt=salt) == 0
        assert await fleet.cached(ANN, cache_salt=salt) > len(PROMPT) / 2
    assert await fleet.cached(BOB, cache_salt="one") == 0


@pytest.mark.parametrize("salt", ["", "a" * 257, 7, ["a"], "\ud800"])
async def test_a_salt_is_a_short_text(fleet: Fleet, salt: Any) -> None:
    body = json.dumps(ASKED | {"cache_salt": salt})
    async with fleet.gateway.http(headers=ANN | {"Content-Type": "application/json"}) as http:
        assert check_error(await http.post(CHAT, content=body), 422)["param"] == "cache_salt"


class Told:
    """Instead of answers: what a worker would be told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.orders: list[AnswerOrder] = []
        monkeypatch.setattr(answers, "Writing", self._refuse)

    def _refuse(self, gateway: Any, order: AnswerOrder, *others: Any) -> None:
        self.orders.append(order)
        raise ApiError(503, "told_enough", "nothing is written here")

    async def by(self, http: httpx.AsyncClient, **fields: Any) -> tuple[str, str]:
        """The salt, and all of the message."""
        assert (await http.post(CHAT, json=ASKED | fields)).json()["error"]["code"] == "told_enough"
        start = Answer(self.orders[-1], lambda written: None).start(LEASE)
        assert start.cache_salt is not None
        return start.cache_salt, start.model_dump_json()


async def salts(told: Told, opened: Opened) -> list[str]:
    """Of two keys and of who has none."""
    found = []
    for client in (ANN, BOB, NOBODY):
        async with opened(**client) as http:
            salt, message = await told.by(http)
            named, named_message = await told.by(http, cache_salt="user-of-ann")
        assert salt != named
        for secret in ("ann", "bob", "127.0.0.1", "key:"):
            assert secret not in message and secret not in named_message
        found += [salt, named]
    return found


async def test_workers_are_not_told_whose_prompt_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And cannot try names: another gateway's salts are others."""
    told = Told(monkeypatch)
    async with running_app(tmp_path / "one", api_keys=KEYS) as (_, opened):
        here, again = await salts(told, opened), await salts(told, opened)
    async with running_app(tmp_path / "two", api_keys=KEYS) as (_, opened):
        elsewhere = await salts(told, opened)
    assert here == again
    assert len({*here, *elsewhere}) == len(here) + len(elsewhere) == 12
    assert all(len(bytes.fromhex(salt)) == 32 for salt in here)
