"""S4: what a worker says of an adapter is compared, and names no file."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.adapters.fields import AdapterForm
from gateway.adapters.files import AdapterFiles
from gateway.adapters.service import Adapters
from gateway.database import Adapter, Database
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.settings import load_settings
from gateway.workers.frame_stream import RequestRejected
from tests.gateway.stages.fleet import Fleet, describe_model, status
from worker.protocol import ADAPTERS, AdapterDescription, ErrorDetail, pack_adapter

WRONG = ErrorDetail(message="no", type="invalid_request_error", code="invalid_adapter", param="adapter")


class Reader:
    """A worker that takes each adapter, and says of it what is not so."""

    def __init__(self, rejects: bool = False, **lies: str) -> None:
        self.rejects, self.lies, self.read = rejects, lies, 0

    async def send_adapter(self, body: bytes, digest: str = "") -> AdapterDescription:
        self.read += 1
        if self.rejects:
            raise RequestRejected(WRONG)
        said = {"digest": digest, "model": "alpha", "model_revision": "1", **self.lies}
        return AdapterDescription(rank=1, num_layers=1, num_parameters=1, base="", **said)


class Stage:
    """Adapters of which these workers read, the first first."""

    def __init__(self, folder: Path, database: Database, *readers: Reader) -> None:
        self.fleet, self.folder = Fleet(*[1] * len(readers)), folder
        for worker in self.fleet.workers:
            model = describe_model(features=(ADAPTERS,))
            self.fleet.pool.reports.answered(worker, status(model=model))
        clients: Any = {f"w{place}": SimpleNamespace(control=one) for place, one in enumerate(readers)}
        files = AdapterFiles(ContentFiles(folder, ".adapter"))
        self.adapters = Adapters(load_settings(), database, self.fleet.pool, clients, files)
        self.files = files

    async def upload(self, owner: str, weights: bytes) -> Adapter:
        sent = self.folder.parent / f"{owner}.upload"
        sent.write_bytes(weights)
        file = os.open(sent, os.O_RDONLY)
        try:
            return await self.adapters.create(file, AdapterForm(name=owner, config="{}"), owner)
        finally:
            os.close(file)


@asynccontextmanager
async def stage(folder: Path, *readers: Reader) -> AsyncIterator[Stage]:
    database = Database(f"sqlite+aiosqlite:///{folder}/voxfleet.db")
    await database.open()
    yield Stage(folder / "adapters", database, *readers)
    await database.close()


async def test_a_worker_gives_no_upload_the_file_of_another(tmp_path: Path) -> None:
    async with stage(tmp_path, Reader()) as honest:
        of_ann = await honest.upload("ann", b"ann's")
        kept = await honest.files.read(of_ann.digest)
    async with stage(tmp_path, Reader(digest=of_ann.digest)) as lying:
        with pytest.raises(ApiError) as refused:
            await lying.upload("bob", b"bob's")
        assert refused.value.code == "no_worker"
        assert list(map(str, lying.folder.iterdir())) == [str(lying.files.store.path(of_ann.digest))]
    liar, other = Reader(digest=of_ann.digest), Reader()
    async with stage(tmp_path, liar, other) as mixed:
        of_bob = await mixed.upload("bob", b"bob's")
        assert (liar.read, other.read) == (1, 1)
        assert await mixed.files.read(of_bob.digest) == pack_adapter({}, b"bob's")
        assert await mixed.files.read(of_ann.digest) == kept == pack_adapter({}, b"ann's")


@pytest.mark.parametrize("lie", [{"model": "beta"}, {"model_revision": "2"}], ids=["model", "revision"])
async def test_nor_has_it_belong_to_a_model_that_it_does_not_serve(
    lie: dict[str, str], tmp_path: Path
) -> None:
    async with stage(tmp_path, Reader(**lie), Reader()) as mixed:
        made = await mixed.upload("ann", b"ann's")
    assert (made.model, made.model_revision) == ("alpha", "1")


async def test_a_worker_that_calls_every_adapter_wrong_is_doubted(tmp_path: Path) -> None:
    async with stage(tmp_path, Reader(rejects=True), Reader()) as mixed:
        assert (await mixed.upload("ann", b"ann's")).owner == "ann"
        liar, other = mixed.fleet.workers
        assert liar.trust.on_trial and not other.trust.on_trial


async def test_an_adapter_is_wrong_where_two_workers_say_so(tmp_path: Path) -> None:
    readers = [Reader(rejects=True) for _ in range(3)]
    async with stage(tmp_path, *readers) as mixed:
        with pytest.raises(ApiError) as refused:
            await mixed.upload("ann", b"ann's")
        assert (refused.value.status_code, refused.value.code) == (422, "invalid_adapter")
        assert [reader.read for reader in readers] == [1, 1, 0]
        assert not any(worker.trust.on_trial for worker in mixed.fleet.workers)
