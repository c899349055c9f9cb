"""Dials in at gateways: says once a second that this worker lives, where it is, and how it is.

So a gateway needs no list of workers, and a worker that is started anywhere, by whatever, is used within a
second. Each gateway has a task of its own, so that one that hangs doesn't delay the others. `announce()`
skips the wait: a worker that begins to drain tells it at once, and one that ends says goodbye. Gateways that
come and go are found by a name that has the address of each (`gateway_dns_url`).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import httpx
import structlog

from sockets.authorities import authorities
from worker.lifecycle import Worker
from worker.protocol import REGISTRATION_PATH, REGISTRATION_SECONDS, Registration
from worker.settings import WorkerSettings

logger = structlog.get_logger(__name__)

_ANSWER_SECONDS = 2.0
_GOODBYE_SECONDS = 0.5

Lookup = Callable[[str, int], Awaitable[set[str]]]
"""The addresses of a host name, for a port. Raises OSError."""


async def look_up(host: str, port: int) -> set[str]:
    """By the resolver of this machine. Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return {address[0] for *_, address in found}


class Registrar:
    """Registers `worker` with every gateway of its settings, from `start` to `close`."""

    def __init__(self, worker: Worker, settings: WorkerSettings, lookup: Lookup = look_up) -> None:
        secret = settings.secret
        headers = {"Authorization": f"Bearer {secret.get_secret_value()}"} if secret else {}
        self._worker = worker
        self._settings = settings
        self._lookup = lookup
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._url = settings.advertised_url or f"http://{host}:{settings.port}"
        self._http = httpx.AsyncClient(
            headers=headers, timeout=_ANSWER_SECONDS, trust_env=False, verify=authorities()
        )
        self._gateways: dict[str, _Gateway] = {}
        self._search: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to register; returns at once."""
        self._worker.on_state_change.append(self.announce)
        self._know(set(self._settings.gateway_urls))
        if self._settings.gateway_dns_url:
            self._search = asyncio.create_task(self._keep_searching(self._settings.gateway_dns_url))

    def announce(self) -> None:
        """Tell every gateway now."""
        for gateway in self._gateways.values():
            gateway.due.set()

    async def close(self) -> None:
        """Stop, and let the gateways know that this process ends."""
        tasks = [gateway.task for gateway in self._gateways.values() if gateway.task is not None]
        tasks += [self._search] if self._search is not None else []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        goodbyes = (self._register(gateway, leaving=True) for gateway in self._gateways.values())
        await asyncio.gather(*goodbyes)
        await self._http.aclose()

    def _know(self, urls: set[str]) -> None:
        """Register at these, and at no others any more."""
        for url in self._gateways.keys() - urls:
            gateway = self._gateways.pop(url)
            logger.info("gateway is gone", gateway=url)
            if gateway.task is not None:
                gateway.task.cancel()
        for url in urls - self._gateways.keys():
            gateway = self._gateways[url] = _Gateway(url)
            gateway.task = asyncio.create_task(self._keep_registered(gateway))

    async def _keep_searching(self, url: str) -> None:
        parts, problem = urlsplit(url), None
        port = parts.port or 80
        while True:
            try:
                addresses = await self._lookup(parts.hostname or "", port)
                self._know({*self._settings.gateway_urls, *(_url(address, port) for address in addresses)})
                found = None
            except OSError as error:  # those that are known stay known
                found = str(error)
            if found is not None and found != problem:
                logger.warning("gateways cannot be looked up", name=parts.hostname, reason=found)
            problem = found
            await asyncio.sleep(REGISTRATION_SECONDS)

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


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


class _Gateway:
    """One gateway and how it answered last; only changes are logged."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.due = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._problem: str | None = "never asked"

    def note(self, problem: str | None) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem is None:
            logger.info("registered", gateway=self.url)
        else:
            logger.warning("registration failed", gateway=self.url, reason=problem)
