"""What stands in for engines and servers, and figures of what it does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from benchmarks.gpu.work import Clip, clips, run, summary


class Metronome:
    """An engine that makes a patch of every clip per step, in steps of a given length on its own clock."""

    patch_seconds = 0.16

    def __init__(self, step_seconds: float, lost: str | None = None) -> None:
        self.now, self.left, self._step_seconds, self._lost = 0.0, {}, step_seconds, lost

    def clock(self) -> float:
        return self.now

    def add(self, clip: Clip) -> None:
        self.left[clip.name] = clip.patches

    def step(self) -> list[str]:
        self.now += self._step_seconds
        names = list(self.left)
        self.left = {name: left - 1 for name, left in self.left.items() if left > 1}
        return [name for name in names if name != self._lost]

    def busy(self) -> bool:
        return bool(self.left)


def figures(text: str, streams: int, factor: float) -> dict[str, Any]:
    engine = Metronome(0.01 * factor)
    return {"text": text} | summary(run(engine, clips(text, streams, 4), engine.clock), 0.16)


class PeerServer:
    """The part of the peer's server that is used; every step yields a patch of each request."""

    def __init__(self, model_path: str, **options: Any) -> None:
        self.options, self.left, self.registered = options, {}, set[str]()

    def register_lora(self, name: str, path: str) -> None:
        self.registered.add(name)

    def add_request(self, seq_id: str, target_text: str, **options: Any) -> None:
        named = {"lora_name"} & options.keys()
        assert options.keys() == {"max_generate_length", "cfg_value", "seed"} | named and target_text
        assert options.get("lora_name", "0") in {"0", *self.registered}
        self.left[seq_id] = options["max_generate_length"]

    def step(self) -> list[SimpleNamespace]:
        names = list(self.left)
        self.left = {name: left - 1 for name, left in self.left.items() if left > 1}
        return [SimpleNamespace(seq_id=name) for name in names]

    def is_finished(self) -> bool:
        return not self.left
