"""Adapters between gateway and worker: what a request says of one, and how it gets to a worker that lacks it.

A gateway names an adapter by the SHA-256 of its body. A worker that has it not refuses the request with
`UNKNOWN_ADAPTER`; the gateway then posts it and asks again. The body is the length of the configuration file,
that file, and the file of weights as they were trained:

    -> POST /adapters?digest=9f3c...      pack_adapter({"lora_config": {"r": 32, ...}}, weights)
    <- AdapterDescription

Imported through `worker.protocol`.
"""

from __future__ import annotations

import json
import struct
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from worker.protocol.bounds import Count, Name, Words
from worker.protocol.frames import ProtocolError

ADAPTERS_PATH = "/adapters"
ADAPTERS = "adapters"
"""The feature of a model whose requests may name one."""
ADAPTERS_UNSUPPORTED = "adapters_unsupported"
UNKNOWN_ADAPTER = "unknown_adapter"
INVALID_ADAPTER = "invalid_adapter"
"""Why a request is refused that names one: the worker takes none, or has not this one."""
MAX_ADAPTER_CONFIG_BYTES = 1 << 16
_LENGTH = struct.Struct("<I")

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z", strict=True)]


class AdapterUse(BaseModel):
    """The adapter of a request."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    digest: Digest
    """SHA-256 of its body; of one that an earlier gateway stored, `models.lora.adapter.Adapter.digest`."""
    name: Name
    """What people call it."""


class AdapterDescription(BaseModel):
    """What a worker read in an adapter, which it has from then on."""

    model_config = ConfigDict(protected_namespaces=())

    digest: Digest
    """By which it was announced."""
    rank: Count
    num_layers: Count
    num_parameters: Count
    base: Words
    """The checkpoint it was trained on, as far as its files tell."""
    model: Name
    model_revision: Name
    """The revision of the worker's model, which it fits."""
    names_weights: bool = False
    """Its files name the weights that it was trained on: those of the worker. Older workers do not tell."""


def pack_adapter(config: dict[str, Any], weights: bytes) -> bytes:
    """Both files of an adapter as a worker gets them."""
    head = json.dumps(config).encode()
    return _LENGTH.pack(len(head)) + head + weights


def unpack_adapter(body: bytes) -> tuple[dict[str, Any], bytes]:
    """Configuration and weights. Raises ProtocolError."""
    if len(body) < _LENGTH.size:
        raise ProtocolError("not an adapter: there is no configuration")
    end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
    if not _LENGTH.size < end <= min(len(body), _LENGTH.size + MAX_ADAPTER_CONFIG_BYTES):
        raise ProtocolError("not an adapter: its configuration has another length")
    try:
        config = json.loads(body[_LENGTH.size : end])
    except (ValueError, RecursionError):
        raise ProtocolError("not an adapter: its configuration is not JSON") from None
    if not isinstance(config, dict):
        raise ProtocolError("not an adapter: its configuration is not a JSON object")
    return config, body[end:]
