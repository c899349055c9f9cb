"""What a worker reads in an adapter; what it says of file and model is compared with what is known."""

from __future__ import annotations

from gateway.slots.capacity.worker import Worker
from gateway.workers.client import WorkerClient, WorkerUnreachable
from worker.protocol import MAX_ADAPTER_CONFIG_BYTES, AdapterDescription, ProtocolError, unpack_adapter

_HEAD_BYTES = MAX_ADAPTER_CONFIG_BYTES + 4


async def read_by(worker: Worker, client: WorkerClient, body: bytes, digest: str) -> AdapterDescription:
    """What the worker reads in the file of that digest, which it keeps.

    Raises RequestRejected, WorkerRefused, and WorkerUnreachable also where it read something else.
    """
    found = await client.control.send_adapter(body, digest)
    model = worker.model
    if (found.digest, found.model, found.model_revision) != (digest, model.name, model.revision):
        raise WorkerUnreachable("the worker read another adapter than it was sent, or for another model")
    try:
        config, _ = unpack_adapter(body[:_HEAD_BYTES])
    except ProtocolError as error:
        raise WorkerUnreachable(f"the worker read what is {error}") from error
    found.names_weights &= bool(config.get("base_digest"))
    return found
