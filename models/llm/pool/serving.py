"""The inside of a device's process that answers prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from models.llm.engine import TextOutput, TextRequest
from models.llm.loading import load_engine
from models.llm.pool.request import request_of, values_of
from models.pool.serving import Serving
from models.pool.wire import Record


class TextServing(Serving):
    """See `Serving`."""

    def load_engine(self, progress: Callable[[str, float], None], options: Record) -> tuple[Any, Record]:
        engine = load_engine(progress=progress, **options)
        return engine, engine.info.to_dict()

    def request(self, fields: dict[str, Any]) -> TextRequest:
        return request_of(fields)

    def output(self, output: TextOutput) -> Record:
        return values_of(output)
