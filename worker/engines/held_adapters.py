"""The adapters that gateways sent to this worker: in the engine's form, by digest, the latest used ones.

They are read and put in form by one thread that gives way to all others, while streams go on. A running
request keeps its adapter when that is dropped to make room.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import structlog

from engine.errors import RequestError
from worker.errors import WorkerError
from worker.protocol import (
    ADAPTERS,
    ADAPTERS_UNSUPPORTED,
    INVALID_ADAPTER,
    UNKNOWN_ADAPTER,
    AdapterDescription,
    AdapterUse,
    ErrorCode,
    unpack_adapter,
)

logger = structlog.get_logger(__name__)

_NICENESS = 10


class HeldAdapters:
    """Used on the event loop. `engine` is a `models.speech.SpeechEngine` with the feature `ADAPTERS`."""

    def __init__(self, max_bytes: int) -> None:
        """max_bytes: of all together, in the form of the model."""
        self._max_bytes = max_bytes
        self._held: OrderedDict[str, int] = OrderedDict()
        """Digest -> bytes, the latest used last."""
        self._thread = ThreadPoolExecutor(1, "load-adapter", initializer=give_way)
        self.one_at_a_time = asyncio.Semaphore(1)
        """Bodies that are in memory, too."""

    def use(self, engine: Any, adapter: AdapterUse) -> None:
        """A request is about to take it. Raises RequestError for one that is not here."""
        check_takes_adapters(engine)
        if adapter.digest not in self._held:
            message = f"adapter {adapter.name!r} is not at this worker"
            raise RequestError(message, "adapter", UNKNOWN_ADAPTER)
        self._held.move_to_end(adapter.digest)

    async def take(self, engine: Any, body: bytes, digest: str) -> AdapterDescription:
        """Read an adapter and have it from now on; to be called by whoever holds `one_at_a_time`.

        `digest`: by which requests will name it. Raises RequestError for one that does not fit, WorkerError
        413, ProtocolError.
        """
        check_takes_adapters(engine)
        loop = asyncio.get_running_loop()
        adapter = await loop.run_in_executor(self._thread, _read, engine, body, digest)
        while digest not in self._held and len(self._held) >= engine.adapters.limit:
            self._drop_oldest(engine)
        info = await loop.run_in_executor(self._thread, _load, engine, adapter, digest)
        if info.num_bytes > self._max_bytes:
            engine.adapters.remove(digest)
            self._held.pop(digest, None)
            message = f"the adapter takes {info.num_bytes} bytes of memory, at most {self._max_bytes} may be"
            raise WorkerError(ErrorCode.TOO_LARGE, message, "adapter")
        self._held[digest] = info.num_bytes
        self._held.move_to_end(digest)
        while sum(self._held.values()) > self._max_bytes:
            self._drop_oldest(engine)
        logger.info("adapter loaded", digest=digest, rank=info.rank, held=len(self._held))
        return AdapterDescription(
            digest=digest,
            rank=info.rank,
            num_layers=info.num_layers,
            num_parameters=info.num_parameters,
            base=info.base,
            model=engine.info.name,
            model_revision=engine.info.revision,
            names_weights=bool(adapter.base_digest),
        )

    def _drop_oldest(self, engine: Any) -> None:
        digest, _ = self._held.popitem(last=False)
        engine.adapters.remove(digest)
        logger.info("adapter dropped", digest=digest)

    def close(self) -> None:
        """Close; nothing more is loaded."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def check_takes_adapters(engine: Any) -> None:
    """Raises RequestError for an engine that does not, or not on its device."""
    if ADAPTERS not in engine.info.features:
        message = f"{engine.info.name} takes no adapters on this worker"
        raise RequestError(message, "adapter", ADAPTERS_UNSUPPORTED)


def _read(engine: Any, body: bytes, digest: str) -> Any:
    from models.lora.adapter import AdapterError

    config, weights = unpack_adapter(body)
    with _refused_as_request():
        adapter = engine.received_adapter(config, weights)
        if digest not in (hashlib.sha256(body).hexdigest(), adapter.digest):
            raise AdapterError("the adapter is another one than was announced")
        return adapter


def _load(engine: Any, adapter: Any, digest: str) -> Any:
    with _refused_as_request():
        return engine.adapters.add(digest, adapter)


@contextmanager
def _refused_as_request() -> Iterator[None]:
    from models.lora.adapter import AdapterError

    try:
        yield
    except AdapterError as error:
        raise RequestError(str(error), "adapter", INVALID_ADAPTER) from error


def give_way() -> None:
    """This thread gets a CPU last of all, where the system can tell threads apart, and takes one alone."""
    import torch

    torch.set_num_threads(1)
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
