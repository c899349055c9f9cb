"""A worker process for tests: `python -m tests.worker.run_worker ENGINE '{"slots": 2}'`.

ENGINE is "cli" for the entry point that `voxfleet worker` calls, "losing" for a real one whose device is lost
at SIGUSR1, else one of the engines below: the synthetic
one with a single fault. The port is in the first log line.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

from benchmarks.chaos import lost_device
from models.speech import SpeechEngine, SpeechOutput
from worker import cli
from worker.engines.loading import ReportProgress, load_engine
from worker.engines.synthetic import SyntheticEngine
from worker.log import configure_logging
from worker.server import serve
from worker.settings import WorkerSettings, load_settings


def load_when_told(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    """Loads for as long as the file LOAD_GATE is missing."""
    report("weights", 0.25)
    while not Path(os.environ["LOAD_GATE"]).exists():
        time.sleep(0.01)
    return load_engine(settings, report)


def fail_to_load(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    report("weights", 0.5)
    raise FileNotFoundError("model.safetensors is missing")


class FaultyEngine(SyntheticEngine):
    """Dies, hangs, fails a request, or breaks its contract, after the third patch, when the text says so."""

    def step(self) -> list[SpeechOutput]:
        outputs = super().step()
        for position, output in enumerate(outputs):
            running = self._requests.get(output.request_id)
            if running is None or output.index < 2:
                continue
            if "die" in running.request.text:
                raise RuntimeError("device lost")
            if "hang" in running.request.text:
                threading.Event().wait()
            if "fail" in running.request.text:
                self.cancel(output.request_id)
                outputs[position] = SpeechOutput.ending(
                    output.request_id, output.index, "error", "latents overflow"
                )
            if "overgrow" in running.request.text:
                outputs[position].audio = outputs[position].audio.repeat(1000)
        return outputs


def load_faulty(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    return FaultyEngine(settings.step_ms, settings.slots)


def load_losing(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    lost_device.arm()
    return load_engine(settings, report)


ENGINES = {
    "losing": load_losing,
    "synthetic": load_engine,
    "gated": load_when_told,
    "unloadable": fail_to_load,
    "faulty": load_faulty,
}


def main(engine: str, options: dict[str, object]) -> int:
    if engine == "cli":
        return cli.run(**options)
    if engine == "losing":
        lost_device.listen()
    configure_logging("json")
    return serve(load_settings(**options), ENGINES[engine])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], json.loads(sys.argv[2])))
