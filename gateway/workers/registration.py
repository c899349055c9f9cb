"""Workers that dial in: each has a lease of three seconds on its place in the pool, renewed once a second.

A registration makes a worker known and never makes it routable: that takes a probe of ours that it answers,
so an address that only the worker itself can reach gets no request. The address lies in `worker_networks`. A
worker with a secret of its own speaks for its own id alone, and no other worker does so. When the lease runs
out, or the worker says that it leaves, it is down at once. One that left is forgotten after a minute, and one
that fell silent after an hour, so that operators and alerts hear of it. A worker of the static list may dial
in too. It is recognised by its address or its boot id, and just probed sooner.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

import structlog

from gateway.edge.addresses import Networks
from gateway.errors import ApiError
from gateway.settings import GatewaySettings
from gateway.settings.workers import WORKER_ID
from gateway.slots.capacity.estimates import EtaTuning, ServiceTime
from gateway.slots.capacity.worker import LEFT, Health, Worker
from gateway.slots.pool import WorkerPool
from gateway.workers.roster import Roster
from gateway.workers.whereabouts import NoAddressError, NotAllowedError, Whereabouts
from worker.protocol import REGISTRATION_LEASE_SECONDS, Registration, RegistrationLease

logger = structlog.get_logger(__name__)

MAX_REGISTERED = 1024
FORGET_SECONDS = 60.0
"""After a worker said that it leaves."""
LOST_SECONDS = 3600.0
"""After it fell silent."""
LOOPBACK_NETWORKS = ("127.0.0.0/8", "::1/128")


class Registry:
    """The workers that dialled in, on top of the static list of `pool`."""

    def __init__(
        self, pool: WorkerPool, roster: Roster, settings: GatewaySettings, tuning: EtaTuning | None = None
    ) -> None:
        """`tuning`: of the estimates about workers that dial in."""
        self._tuning = tuning or EtaTuning()
        self._pool = pool
        self._roster = roster
        self._settings = settings
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """Per registered worker: the end of its lease or, after that, the moment to forget it."""
        self._own_ids: dict[str, str | None] = {}
        """Per registered worker: the id whose own secret it showed, None for the one that all share."""
        nobody_knows_a_secret = settings.worker_secret is None and not settings.worker_secrets
        self._networks = Networks(LOOPBACK_NETWORKS if nobody_knows_a_secret else settings.worker_networks)

    async def check(self, registration: Registration, own_id: str | None) -> None:
        """Whether a worker may say this. `own_id`: see `register`. Raises ApiError 403, 409, 422."""
        said = registration.status.worker_id
        if own_id is not None and said != own_id:
            message = f"this secret is worker {own_id}'s, and good for no other id"
            raise ApiError(403, "not_its_id", message, param="status.worker_id")
        if own_id is None and said in self._settings.worker_secrets:
            message = "this id has a secret of its own (worker_secrets)"
            raise ApiError(403, "not_its_id", message, param="status.worker_id")
        if registration.leaving or self._known(registration, own_id) is not None:
            return
        if own_id is not None and any(
            self._own_ids.get(worker.id) == own_id and worker.health is not Health.DOWN
            for worker in self._pool.workers.values()
        ):
            message = f"a worker with the secret of {own_id} is there already, at another address"
            raise ApiError(409, "worker_id_taken", message, param="status.worker_id")
        await self._check_address(registration.url)

    def register(self, registration: Registration, own_id: str | None = None) -> RegistrationLease:
        """Take in or renew what was checked. Raises ApiError when there are too many workers.

        `own_id`: the id whose own secret the worker showed; None for the shared one, or none.
        """
        worker = self._known(registration, own_id)
        if worker is None and registration.leaving:  # of a worker that there never was, nothing is left
            return _lease(registration.status.worker_id)
        worker = worker or self._add(registration, own_id)
        if worker.id in self._timers:
            if registration.leaving:
                self._end(worker, LEFT, FORGET_SECONDS)
            else:
                self._schedule(worker, REGISTRATION_LEASE_SECONDS, lambda: self._expire(worker))
                self._roster.watch(worker, self._whereabouts(worker.url, own_id))
        self._take_news(worker, registration)
        return _lease(worker.id)

    def close(self) -> None:
        """Cancel the timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _known(self, registration: Registration, own_id: str | None) -> Worker | None:
        """The worker that speaks, if it is known: nobody speaks for one that showed another secret."""
        boot_id = registration.status.boot_id
        for worker in self._pool.workers.values():
            if self._own_ids.get(worker.id) != own_id:
                continue
            if worker.url == registration.url and not _left_to(worker, registration):
                return worker
            if worker.status is not None and worker.status.boot_id == boot_id:
                return worker
        return None

    def _add(self, registration: Registration, own_id: str | None) -> Worker:
        if len(self._timers) >= MAX_REGISTERED and not self._forget_any():
            raise ApiError(503, "too_many_workers", f"{MAX_REGISTERED} workers have dialled in already")
        worker = Worker(
            self._free_id(registration, own_id),
            registration.url,
            self._settings.health_failures_down,
            service_time=ServiceTime(self._tuning),
        )
        logger.info("worker dialled in", id=worker.id, url=worker.url)
        self._own_ids[worker.id] = own_id
        self._schedule(worker, REGISTRATION_LEASE_SECONDS, lambda: self._expire(worker))
        self._pool.add_worker(worker)
        return worker

    def _free_id(self, registration: Registration, own_id: str | None) -> str:
        """Its own id. One that came back at another address takes it over from what it was before, and what
        had its address is gone for good.
        """
        wanted = registration.status.worker_id
        for former in self._gone():
            had_its_address = former.url == registration.url and self._own_ids.get(former.id) == own_id
            if former.id == wanted or had_its_address:
                self._forget(former)
        if WORKER_ID.fullmatch(wanted) and wanted not in self._pool.workers:
            return wanted
        unique = f"{own_id or ''} {registration.url}"
        return f"worker-{hashlib.sha256(unique.encode()).hexdigest()[:12]}"

    def _gone(self) -> list[Worker]:
        """Workers that dialled in, are down and hold no lease."""
        known = [self._pool.workers[id] for id in self._timers]
        return [worker for worker in known if worker.health is Health.DOWN and not worker.leases]

    def _forget_any(self) -> bool:
        """Make room for one more; whether there is some now. Of silent ones operators are to hear."""
        gone = sorted(self._gone(), key=lambda worker: worker.last_failure != LEFT)
        for worker in gone[:1]:
            self._forget(worker)
        return bool(gone)

    def _whereabouts(self, url: str, own_id: str | None) -> Whereabouts:
        """It is shown the secret that it showed, so that no worker gets another one's."""
        settings = self._settings
        secret = settings.worker_secret if own_id is None else settings.worker_secrets[own_id]
        return Whereabouts(url, self._networks, secret)

    async def _check_address(self, url: str) -> None:
        """Raises ApiError for an address that workers may not have. Each connection looks at it again."""
        try:
            await self._whereabouts(url, None).endpoint()
        except NotAllowedError:
            message = "url: the address of a worker lies within worker_networks"
            if self._settings.worker_secret is None and not self._settings.worker_secrets:
                message = "url: without a worker secret, workers on this machine alone may dial in"
            raise ApiError(403, "worker_address", message, param="url") from None
        except NoAddressError as error:
            raise ApiError(422, "worker_address", f"url: {error}", param="url") from error

    def _take_news(self, worker: Worker, registration: Registration) -> None:
        """What a worker says of itself counts once a probe has shown that it can be reached."""
        status, known = registration.status, worker.status
        same_process = known is not None and known.boot_id == status.boot_id
        if worker.health is Health.UP and same_process:
            self._pool.reports.answered(worker, status)
        elif not registration.leaving:
            self._roster.check_now(worker.id)

    def _expire(self, worker: Worker) -> None:
        logger.warning("registration ran out", id=worker.id)
        self._end(worker, "its registration ran out", LOST_SECONDS)

    def _end(self, worker: Worker, reason: str, kept_seconds: float) -> None:
        self._roster.unwatch(worker.id)
        self._pool.reports.gone(worker, reason)
        self._schedule(worker, kept_seconds, lambda: self._forget(worker))

    def _forget(self, worker: Worker) -> None:
        if worker.leases:
            self._schedule(worker, FORGET_SECONDS, lambda: self._forget(worker))
            return
        logger.info("worker forgotten", id=worker.id)
        self._timers.pop(worker.id).cancel()
        self._own_ids.pop(worker.id, None)
        self._roster.forget(worker.id)
        self._pool.remove_worker(worker)

    def _schedule(self, worker: Worker, delay_seconds: float, action: Callable[[], None]) -> None:
        if timer := self._timers.get(worker.id):
            timer.cancel()
        self._timers[worker.id] = asyncio.get_running_loop().call_later(delay_seconds, action)


def _left_to(worker: Worker, registration: Registration) -> bool:
    """Whether the worker is gone, and another one has its address by now."""
    gone = worker.health is Health.DOWN and worker.status is not None
    return gone and worker.status.worker_id != registration.status.worker_id


def _lease(worker_id: str) -> RegistrationLease:
    return RegistrationLease(worker_id=worker_id, lease_seconds=REGISTRATION_LEASE_SECONDS)
