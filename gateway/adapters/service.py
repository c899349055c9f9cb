"""`Gateway.adapters`: adapters from their upload to their use in a request.

A worker reads each upload first, strictly (`models/lora/files.py`): the gateway knows no model, and what a
file holds is told by who would have to speak with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Sequence

import structlog

from gateway.adapters.fields import AdapterChange, AdapterForm
from gateway.adapters.files import AdapterFiles
from gateway.adapters.reading import read_by
from gateway.adapters.refitting import Refitting
from gateway.adapters.registry import ADAPTERS, AdapterRegistry
from gateway.adapters.speaker import AdaptedSpeaker
from gateway.database import Adapter, Database
from gateway.database.named_rows import by_reference, meant_of
from gateway.database.repeats import NOT_ASKED, Asked
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.files.used_files import UsedFiles
from gateway.requests import TtsRequest
from gateway.settings import GatewaySettings
from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from gateway.streams.second_opinion import SecondOpinion
from gateway.text.printable import is_printable
from gateway.voices import consent
from gateway.voices.resolution import Speaker
from gateway.workers.client import RequestRejected, WorkerClient, WorkerRefused, WorkerUnreachable
from worker.protocol import AdapterDescription, ErrorCode, pack_adapter

logger = structlog.get_logger(__name__)


class Adapters:
    """Everything about adapters; `close` ends what it does in the background."""

    def __init__(
        self,
        settings: GatewaySettings,
        database: Database,
        pool: WorkerPool,
        clients: dict[str, WorkerClient],
        files: AdapterFiles,
    ) -> None:
        self._registry = AdapterRegistry(database, settings.max_adapters, settings.max_adapters_per_owner)
        self._pool, self._clients, self._files = pool, clients, files
        self._one_upload = asyncio.Semaphore(1)
        """One upload at a time has its weights in memory."""
        self._used = UsedFiles(files.store, "the adapter", self._registry.uses)
        self._refitting = Refitting(self._registry, files, pool, clients)
        self._tasks: list[asyncio.Task[None]] = []

    # ----------------------------------------------------------------------------------------------- requests

    async def adapted(self, speaker: Speaker, request: TtsRequest, tenant: str) -> Speaker:
        """The voice of a request of `tenant` with the adapter that it names, by id or name in any case; ""
        names none.

        Raises ApiError: 403 without consent, 404, 422 when several have the name or it is of another model,
        503.
        """
        if not request.adapter:
            return speaker
        row = await self._meant(request.adapter, tenant)
        if request.model not in (None, row.model):
            message = f"adapter {row.name!r} is one of {row.model}, not of {request.model}"
            raise ApiError(422, "adapter_of_another_model", message, param="adapter")
        return AdaptedSpeaker(speaker, row, await self._files.open(row.digest), self._check)

    async def named(self, references: Iterable[str], tenant: str | None) -> dict[str, Adapter]:
        """The adapter that a request of `tenant` would speak with for each of these ids and names; those with
        which it would be refused are left out. Raises ApiError 503.
        """
        wanted = set(references)
        if not wanted:
            return {}
        rows = by_reference(await self._registry.visible_to(tenant))
        agreed = {
            reference: [row for row in meant_of(rows(reference), reference, tenant) if consent.is_given(row)]
            for reference in wanted
        }
        return {reference: found[0] for reference, found in agreed.items() if len(found) == 1}

    async def _check(self, id: str) -> None:
        await consent.check_still_given(self._registry, id, _without_consent())

    async def _meant(self, reference: str, tenant: str) -> Adapter:
        found = await self._registry.find(reference, tenant) if is_printable(reference) else []
        if not found:
            raise ADAPTERS.unknown(reference)
        agreed = [row for row in found if consent.is_given(row)]
        if not agreed:
            raise _without_consent()
        if len(agreed) > 1:
            message = f"several adapters are called {reference!r}: give the id of one"
            raise ApiError(422, "ambiguous_adapter", message, param="adapter")
        return agreed[0]

    # ------------------------------------------------------------------------------------------- the registry

    async def create(
        self, file: int, form: AdapterForm, owner: str, id: str | None = None, asked: Asked = NOT_ASKED
    ) -> Adapter:
        """A new adapter of `owner` from an open file of weights; `id`: that it is to have, else a random one.

        Raises ApiError: 409 for the name or too many, 413, 422 for what does not fit, 503, 507.
        """
        async with self._one_upload:
            body, digest = await asyncio.to_thread(_packed, file, form)
            found = await self._examined(body, digest, form.model)
            row = Adapter(
                id=id,
                **form.columns,
                owner=owner,
                digest=digest,
                model=found.model,
                model_revision=found.model_revision,
                base=found.base,
                rank=found.rank,
                num_layers=found.num_layers,
                num_parameters=found.num_parameters,
                size_bytes=len(body),
                **consent.columns_of(form.consent_by, form.consent_statement, digest, now()),
            )
            asked.mark(row)
            async with self._used.keeping(body, digest):
                return await self._registry.add(row)

    async def change(self, row: Adapter, change: AdapterChange) -> Adapter:
        """What `change` says. Raises ApiError: 404, 409, 503."""
        columns = change.columns
        if "consent_by" in change.model_fields_set:
            columns |= consent.columns_of(change.consent_by, change.consent_statement, row.digest, now())
        return await self._registry.change(row.id, columns)

    async def remove(self, id: str) -> None:
        """Delete an adapter: no request can name it any more, and those that did are served to their end, but
        that a live session ends with the sentence that is begun.

        Raises ApiError: 404, 503.
        """
        await self._used.let_go(self._registry.remove(id))

    async def has(self, id: str) -> bool:
        """Whether there is one of that id. Raises ApiError 503."""
        return await self._registry.get(id) is not None

    async def get(self, id: str, tenant: str | None, is_admin: bool = False) -> Adapter:
        """One that the caller may see. Raises ApiError 404, 503."""
        row = await self._registry.get(id)
        if row is None or not consent.may_see(row, tenant, is_admin):
            raise ADAPTERS.unknown(id)
        return row

    async def visible_to(self, tenant: str | None, is_admin: bool = False) -> Sequence[Adapter]:
        """The adapters that the caller may see. Raises ApiError 503."""
        return await self._registry.visible_to(tenant, everything=is_admin)

    async def _examined(self, body: bytes, digest: str, model: str | None) -> AdapterDescription:
        """What a worker reads in an upload, which it keeps; two have to agree that it is wrong, if there are
        two. Raises ApiError.
        """
        opinion = SecondOpinion(self._pool)
        for worker in self._candidates(model):
            try:
                found = await read_by(worker, self._clients[worker.id], body, digest)
                opinion.taken(worker)
                return found
            except RequestRejected as error:
                if not opinion.is_to_be_had(worker):
                    raise _refusal(error) from error
                opinion.await_one(worker, error)
            except (WorkerUnreachable, WorkerRefused) as error:
                logger.info("an adapter was not read", worker=worker.id, error=type(error).__name__)
        if opinion.rejection is not None:
            raise _refusal(opinion.rejection)
        message = "no worker is free to look at the adapter"
        raise ApiError(503, "no_worker", message, retry_after_seconds=5)

    def _candidates(self, model: str | None) -> list[Worker]:
        """The workers that may look at it, the least loaded first. Raises ApiError 422, 503."""
        needed = Requirement(model, adapters=True)
        if problem := self._pool.why_unservable(needed):
            raise problem
        found = [worker for worker in self._pool.workers.values() if worker.serving and worker.offers(needed)]
        names = sorted({worker.model.name for worker in found})
        if len(names) > 1:
            message = f"model: say which of {', '.join(names)} the adapter is for"
            raise ApiError(422, "missing_field", message, param="model")
        return sorted(found, key=lambda worker: len(worker.leases))

    def start(self) -> None:
        """Look for files that a killed gateway left behind, and for adapters whose model changed."""
        self._tasks += map(asyncio.create_task, (self._used.remove_leftovers(), self._refitting.run()))

    async def close(self) -> None:
        """End what is done in the background."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _packed(file: int, form: AdapterForm) -> tuple[bytes, str]:
    """Both files of an upload as one, and its SHA-256. Blocks. Raises ApiError 422."""
    weights = os.pread(file, os.fstat(file).st_size, 0)
    body = pack_adapter(form.read_config(), weights)
    return body, hashlib.sha256(body).hexdigest()


def _refusal(error: RequestRejected) -> ApiError:
    detail = error.detail
    status = 413 if detail.code == ErrorCode.TOO_LARGE else 422
    return ApiError(status, detail.code, detail.message, param=detail.param)


def _without_consent() -> ApiError:
    message = "nobody has agreed to the use of this adapter: add a consent to it first"
    return ApiError(403, "adapter_without_consent", message, param="adapter")
