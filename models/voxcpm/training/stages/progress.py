"""Progress of one training stage: a line on standard output, a JSON log and a state file for the pipeline.

progress = Progress(folder, "lm")
progress.report("running", step=100, loss=0.41, seconds_left=900)   # logs/lm.jsonl, logs/lm.state
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from models.whole_files import write_atomically


class Progress:
    def __init__(self, folder: Path, stage: str) -> None:
        self._logs, self._stage, self._began = folder / "logs", stage, time.time()
        self._logs.mkdir(parents=True, exist_ok=True)

    def report(self, state: str, **fields: Any) -> None:
        """Note where the stage stands; numbers are rounded to five digits."""
        rounded = {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in fields.items()}
        entry = {
            "stage": self._stage,
            "state": state,
            "seconds": round(time.time() - self._began, 1),
            **rounded,
        }
        line = json.dumps(entry)
        print(line, flush=True)
        with open(self._logs / f"{self._stage}.jsonl", "a") as file:
            file.write(line + "\n")
        write_atomically(self._logs / f"{self._stage}.state", line.encode())


def last_report(folder: Path, stage: str) -> dict[str, Any]:
    """What the stage reported last; empty before its first report."""
    path = folder / "logs" / f"{stage}.state"
    return json.loads(path.read_text()) if path.exists() else {}
