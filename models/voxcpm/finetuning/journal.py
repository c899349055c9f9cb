"""What is told of a run, and written down in `work/progress.jsonl`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from models.voxcpm.finetuning.recordings.checks import Finding, summary
from models.voxcpm.finetuning.recordings.dataset import DatasetError, OtherRunError

MOST_FILES_TOLD = 50
Report = Callable[[dict[str, Any]], None]


class Journal:
    """Tells the caller, and writes it down; of shares every twentieth. work: the run's folder of work."""

    def __init__(self, work: Path, report: Report) -> None:
        self._file, self._report, self._began = work / "progress.jsonl", report, time.monotonic()
        self._written: tuple[str, int] | None = None

    def __call__(self, state: str, **fields: Any) -> None:
        entry = {"state": state, "seconds": round(time.monotonic() - self._began, 1), **fields}
        with self._file.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self._report(entry)

    def share(self, state: str, share: float, cpu_share: float | None) -> None:
        """How much of something is done, and what of the time there was a CPU for it; both 0 to 1."""
        told = {"share": share, "cpu_share": cpu_share}
        twentieth = (state, int(20 * share))
        if twentieth == self._written:
            self._report({"state": state, **told})
        else:
            self._written = twentieth
            self(state, **told)

    def found(self, findings: list[Finding]) -> None:
        """What was found about recordings, each kind once."""
        for told in summary(findings):
            self("found", kind=told.kind, files=list(told.files[:MOST_FILES_TOLD]), message=told.message)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """What cannot be trained on, or gone on with, is told to who reads the journal, too."""
        try:
            yield
        except DatasetError as error:
            self("refused", message=str(error), outdated=isinstance(error, OtherRunError))
            raise
