"""What calls to a service are made of: names in paths, fields, files in forms; files of answers."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from models.whole_files import replacing
from voxfleet.client.errors import InvalidRequestError

_ADAPTER_FILES = (
    ("lora_config.json", "lora_weights.safetensors", "lora_weights.ckpt"),
    ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"),
)
"""Configuration and weights of the VoxCPM package's layout, and of PEFT's."""


def part(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="", errors="replace")


def well_formed(text: str) -> str:
    """With a ? for each lone surrogate: the names of files in another encoding have some."""
    return text.encode(errors="replace").decode()


def as_sent(options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` of a request to httpx, its JSON encoded. Raises InvalidRequestError for a field of a form or
    of a query that is no Unicode; which one it is in JSON, the service says.
    """
    for name, value in (*options.get("data", {}).items(), *options.get("params", {}).items()):
        if isinstance(value, str) and well_formed(value) != value:
            raise InvalidRequestError(f"{name}: is not valid Unicode", "invalid_value", param=name)
    sent = dict(options)
    if "json" in sent:
        sent["content"] = _json(sent.pop("json"))
        sent["headers"] = {"Content-Type": "application/json", **sent.get("headers", {})}
    return sent


def _json(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(body).encode()


Audio = bytes | bytearray | memoryview | str | Path
"""A file's bytes, or where it is."""


async def audio_file(audio: Audio) -> dict[str, tuple[str, bytes]]:
    """It as the part of a form. Raises OSError."""
    if isinstance(audio, bytearray | memoryview):
        return {"audio": ("audio", bytes(audio))}
    if not isinstance(audio, str | Path):
        return {"audio": ("audio", audio)}
    path = Path(audio)
    return {"audio": (well_formed(path.name), await asyncio.to_thread(path.read_bytes))}


def adapter_files(folder: str | Path) -> tuple[str, tuple[str, bytes]]:
    """Configuration, and the weights with their name. Blocks. Raises OSError."""
    folder = Path(folder)
    for config, *weights in _ADAPTER_FILES:
        if (folder / config).is_file():
            file = next((folder / name for name in weights if (folder / name).is_file()), folder / weights[0])
            return (folder / config).read_text(encoding="utf-8"), (file.name, file.read_bytes())
    raise FileNotFoundError(f"{folder} has neither {' nor '.join(files[0] for files in _ADAPTER_FILES)}")


def whole(path: Path) -> AbstractContextManager[Path]:
    """The file to write instead of `path`, which becomes it at the end: where a link leads, too. What is no
    file, such as a device or a pipe, stays and takes what comes.
    """
    return nullcontext(path) if path.exists() and not path.is_file() else replacing(path.resolve())


def put_on_disk(file: IO[bytes]) -> None:
    """Blocks for as long as that takes. Raises OSError."""
    file.flush()
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        os.fsync(file.fileno())
