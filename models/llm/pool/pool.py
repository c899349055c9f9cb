"""What `LLM` has in place of an engine where there are several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from tqdm import tqdm

from engine.output_stream import OutputStream
from models.llm.checkpoint import find_directory, read_tokenizer
from models.llm.engine import TextOutput, TextRequest
from models.llm.options import TextOptions
from models.llm.pool.request import PooledText
from models.llm.tokenizer import TextTokenizer
from models.pool.loading import load_members
from models.pool.member import Member
from models.pool.pool import Pool
from models.pool.wire import Record

MakeBar = Callable[[], tqdm]
"""A bar that counts answers."""


class TextPool(Pool):
    """See `Pool`.

    Attributes:
        tokenizer: of the checkpoint, None where it has none.
    """

    def __init__(self, devices: list[Member], info: Record, tokenizer: TextTokenizer | None) -> None:
        super().__init__(devices, info)
        self.tokenizer = tokenizer

    def submit(self, request: TextRequest) -> OutputStream:
        """See `engine.loop.EngineLoop.submit`; returns once a device has taken the request."""
        return self._taken(PooledText(request))

    def answers(self, requests: Sequence[TextRequest], make_bar: MakeBar) -> dict[str, list[TextOutput]]:
        """All outputs of each request, by its name.

        Raises RequestError for the first that is refused, EngineError; no other goes on then.
        """
        streams: list[OutputStream] = []
        outputs: dict[str, list[TextOutput]] = {}
        try:
            for request in requests:
                streams.append(self.submit(request))
            with make_bar() as bar:
                for stream in streams:
                    outputs[stream.request_id] = list(stream)
                    bar.update()
        finally:
            for stream in streams:
                stream.cancel()
        return outputs

    def has_unfinished(self) -> bool:
        """Whether a device has a request."""
        return any(device.process.load[0] for device in self._devices)


def load_pool(
    model: str | Path, devices: list[torch.device], cpu_weights: str, options: TextOptions
) -> TextPool:
    """An engine on each device, all with these options; without `threads`, CPUs share those of the machine.

    Raises what one of them raises.
    """
    directory = find_directory(model).absolute()
    tokenizer = read_tokenizer(directory)
    told = {"model": str(directory), "cpu_weights": cpu_weights, **asdict(options)}
    return TextPool(*load_members(devices, "models.llm.pool.child", told, None), tokenizer)
