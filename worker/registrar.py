"""Dials in at gateways: says once a second that this worker lives, where it is, and how it is.

So a gateway needs no list of workers, and a worker that is started anywhere, by whatever, is used within a
second. Each gateway has a task of its own, so that one that hangs doesn't delay the others. `announce()`
skips the wait: a worker that begins to drain tells it at once, and one that ends says goodbye.
"""

from __future__ import annotations

import asyncio

import httpx
import structlog

from worker.lifecycle import Worker
from worker.protocol import REGISTRATION_PATH, REGISTRATION_SECONDS, Registration
from worker.settings import WorkerSettings

logger = structlog.get_logger(__name__)

_ANSWER_SECONDS = 2.0
_GOODBYE_SECONDS = 0.5


class Registrar:
    """Registers `worker` with every gateway of its settings, from `start` to `close`."""

    def __init__(self, worker: Worker, settings: WorkerSettings) -> None:
        secret = settings.secret
        headers = {"Authorization": f"Bearer {secret.get_secret_value()}"} if secret else {}
        self._worker = worker
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._url = settings.advertised_url or f"http://{host}:{settings.port}"
        self._http = httpx.AsyncClient(headers=headers, timeout=_ANSWER_SECONDS, trust_env=False)
        self._gateways = [_Gateway(url) for url in settings.gateway_urls]
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin to register; returns at once."""
        self._worker.on_state_change.append(self.announce)
        self._tasks = [asyncio.create_task(self._keep_registered(gateway)) for gateway in self._gateways]

    def announce(self) -> None:
        """Tell every gateway now."""
        for gateway in self._gateways:
            gateway.due.set()

    async def close(self) -> None:
        """Stop, and let the gateways know that this process ends."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        goodbyes = (self._register(gateway, leaving=True) for gateway in self._gateways)
        await asyncio.gather(*goodbyes)
        await self._http.aclose()

    async def _keep_registered(self, gateway: _Gateway) -> None:
        while True:
            gateway.due.clear()
            await self._register(gateway)
            try:
                async with asyncio.timeout(REGISTRATION_SECONDS):
                    await gateway.due.wait()
            except TimeoutError:
                continue

    async def _register(self, gateway: _Gateway, leaving: bool = False) -> None:
        registration = Registration(url=self._url, status=self._worker.status(), leaving=leaving)
        try:
            response = await self._http.post(
                gateway.url + REGISTRATION_PATH,
                content=registration.model_dump_json(),
                headers={"Content-Type": "application/json"},
                timeout=_GOODBYE_SECONDS if leaving else _ANSWER_SECONDS,
            )
            problem = None if response.is_success else f"HTTP {response.status_code}: {response.text[:200]}"
        except httpx.HTTPError as error:
            problem = f"{type(error).__name__}: {error}"
        gateway.note(problem)


class _Gateway:
    """One gateway and how it answered last; only changes are logged."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.due = asyncio.Event()
        self._problem: str | None = "never asked"

    def note(self, problem: str | None) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem is None:
            logger.info("registered", gateway=self.url)
        else:
            logger.warning("registration failed", gateway=self.url, reason=problem)
