"""Writes what is answered to the examples into answers.json: `python -m tests.gateway.description.record`.

To be run where an operation or its answer has changed.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from typing import Any

from gateway.app import create_app
from gateway.description.document import ANSWERS, describe
from gateway.settings import load_settings
from telemetry.build import VERSION, build
from tests.gateway.description.answers import shortened
from tests.gateway.description.examples import Runner, operations, running


async def record(folder: str) -> dict[str, Any]:
    """All answers, and the values that they gave to each other."""
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", data_dir=folder))
    kept: dict[str, Any] = {"values": {}, "answers": {}}
    known: dict[str, Any] = {}
    async with running(folder) as gateway, gateway.http() as http:
        for operation in operations():
            document = describe(app, anonymous=True, record=kept)
            runner = Runner(gateway, http, document, kept["values"], known)
            kept["answers"][operation.name] = await runner.run(operation)
            kept["values"] = shortened(known)
    return kept


def main() -> None:
    """Replace the file."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("VOXFLEET_DATA_DIR", folder)
        kept = asyncio.run(record(folder))
    told = json.dumps(kept, indent=1, ensure_ascii=False)
    told = told.replace(build(), f"{VERSION}+0123456789ab")  # another commit is no other answer
    ANSWERS.write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
