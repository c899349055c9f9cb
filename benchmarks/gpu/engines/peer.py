"""nano-vllm-voxcpm 2.0.5 under the work of `benchmarks/gpu/engines/scenarios.py`, in a process of its own.

    PYTHONPATH=WHEEL python -m benchmarks.gpu.engines.peer CHECKPOINT --works '[["short", 64, null]]'

It is driven step by step in this process, as ours is, without the queues between its server and its clients:
that leaves out some of what its users wait for. Modules that it imports for reading audio files alone become
empty ones where they are missing. One JSON line per work goes to standard output, after "RESULT ".
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.gpu.work import CFG_VALUE, TIMESTEPS, Clip, concurrency, line

PACKAGE, VERSION = "nanovllm_voxcpm", "2.0.5"
AUDIO_LIBRARIES = ("librosa", "torchcodec", "soundfile", "torchaudio")
MARK = "RESULT "
Work = tuple[str, int, int | None]
"""Kind of text, streams, patches."""


def stub_audio_libraries(metadata: Path) -> list[str]:
    """Put empty modules where audio libraries are missing; their names.

    Who finds a module asks for its version too, so each gets one in the empty folder `metadata`.
    """
    import transformers  # noqa: F401  (looks for some of them by itself, so it comes first)

    missing = [name for name in AUDIO_LIBRARIES if importlib.util.find_spec(name) is None]
    for name in missing:
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        sys.modules[name] = module
        about = metadata / f"{name}-0.0.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.0\n")
    sys.path.append(str(metadata))
    return missing


class Peer:
    """The peer's server object, which adds requests and steps."""

    def __init__(
        self, checkpoint: Path, max_num_seqs: int, memory_share: float, adapter_slots: int = 0, rank: int = 32
    ) -> None:
        """adapter_slots: adapters of q, k, v and o that the device has room for."""
        config = json.loads((checkpoint / "config.json").read_text())
        family, name = ("voxcpm2", "VoxCPM2") if config["architecture"] == "voxcpm2" else ("voxcpm", "VoxCPM")
        server = importlib.import_module(f"{PACKAGE}.models.{family}.server")
        of_adapters = {}
        if adapter_slots:
            settings = importlib.import_module(f"{PACKAGE}.models.{family}.config").LoRAConfig
            of_adapters = {"lora_config": settings(max_loras=adapter_slots, max_lora_rank=rank)}
        self._server = getattr(server, f"{name}ServerImpl")(
            str(checkpoint),
            inference_timesteps=TIMESTEPS,
            max_num_seqs=max_num_seqs,
            max_model_len=min(4096, config["max_length"]),
            gpu_memory_utilization=memory_share,
            devices=[0],
            **of_adapters,
        )
        vae = config["audio_vae_config"]
        frames = 1
        for stride in vae["decoder_rates"]:
            frames *= stride
        rate = vae.get("out_sample_rate") or vae["sample_rate"]
        self.patch_seconds = config["patch_size"] * frames / rate

    def register(self, adapter: str, directory: Path) -> None:
        """An adapter in the published package's layout."""
        self._server.register_lora(adapter, str(directory))

    def add(self, clip: Clip, adapter: str | None = None) -> None:
        self._server.add_request(
            clip.name, clip.text, max_generate_length=clip.patches, cfg_value=CFG_VALUE,
            seed=int(clip.text.split()[0]), **({} if adapter is None else {"lora_name": adapter}),
        )  # fmt: skip

    def step(self) -> list[str]:
        return [sequence.seq_id for sequence in self._server.step()]

    def busy(self) -> bool:
        return not self._server.is_finished()


def measure_in_child(checkpoint: Path, works: list[Work], timeout: float) -> dict[str, Any]:
    """Figures of the peer for `works`, by a child process that prints as it goes; or why there are none."""
    arguments = [str(checkpoint), "--works", json.dumps(works)]
    return said_by_child(
        "benchmarks.gpu.engines.peer", arguments, timeout, lambda row: print("peer", line(row), flush=True)
    )


def said_by_child(
    module: str, arguments: list[str], timeout: float, say: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """What a module, run as a child, prints behind MARK: `works`; each is said as it is there. If it fails,
    its last lines are `failed`."""
    command = [sys.executable, "-m", module, *arguments]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    watchdog = threading.Timer(timeout, child.kill)
    watchdog.start()
    results: list[dict[str, Any]] = []
    said: deque[str] = deque(maxlen=15)
    try:
        for text in child.stdout or ():
            if MARK in text:
                results.append(json.loads(text.split(MARK, 1)[1]))
                say(results[-1])
            else:
                said.append(text.rstrip())
        child.wait()
    finally:
        watchdog.cancel()
        child.kill()
    if child.returncode:
        print("\n".join(said), flush=True)
        return {"works": results, "failed": list(said)[-5:]}
    return {"works": results}


def ratios(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where both ran the same work: how many times the audio, and how many times sooner the first of it."""
    peers = {(row["text"], row["streams"], row["patches"]): row for row in theirs}
    rows = []
    for row in ours:
        peer = peers.get((row["text"], row["streams"], row["patches"]))
        if peer is not None:
            rows.append(
                {
                    "text": row["text"],
                    "streams": row["streams"],
                    "audio_seconds_per_second": row["audio_seconds_per_second"]
                    / peer["audio_seconds_per_second"],
                    "step": peer["step_ms_p50"] / row["step_ms_p50"],
                    "first_audio": peer["first_audio_ms_p50"] / row["first_audio_ms_p50"],
                }
            )
    return rows


@contextmanager
def importable() -> Iterator[None]:
    """While the peer may be imported. Raises SystemExit where it is not installed."""
    try:
        found = version("nano-vllm-voxcpm")
    except PackageNotFoundError:
        raise SystemExit(f"nano-vllm-voxcpm {VERSION} is not on PYTHONPATH") from None
    with tempfile.TemporaryDirectory() as metadata:
        stubbed = stub_audio_libraries(Path(metadata))
        print(f"nano-vllm-voxcpm {found}; empty modules for {stubbed}", flush=True)
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--works", type=json.loads, required=True)
    parser.add_argument("--memory-share", type=float, default=0.8)
    arguments = parser.parse_args()
    with importable():
        most = max(streams for _, streams, _ in arguments.works)
        peer = Peer(arguments.checkpoint, most, arguments.memory_share)
        for kind, streams, patches in arguments.works:
            print(MARK + json.dumps(concurrency(peer, kind, streams, patches)), flush=True)


if __name__ == "__main__":
    main()
