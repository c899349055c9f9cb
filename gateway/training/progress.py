"""How far a training is, of the lines that its process has written (`models/voxcpm/finetuning/journal.py`).

A process that goes on where another was cut writes behind its lines and says again what it found, so the
whole journal is read each time: it is a few hundred lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gateway.sessions.storage.files import read_lines
from gateway.training.files import Sample

MOST_BYTES = 4 << 20
_MOST_LOSSES = 300
_MOST_SAMPLES = 12
_MESSAGE_CHARACTERS = 1000


@dataclass
class Progress:
    """What the API tells; `stage`: preparing, training, finishing."""

    stage: str = "preparing"
    share: float | None = None
    """Share of the recordings that are encoded, while it prepares."""
    step: int = 0
    seconds_left: float | None = None
    """At most: it ends earlier when nothing gets better."""
    seconds_per_step: float | None = None
    """Seconds that a step took lately."""
    cpu_share: float | None = None
    """Share of that time, or of that of the last recordings, in which it had a CPU; None on a GPU."""
    seconds_of_speech: float | None = None
    """Seconds of speech that are used."""
    recordings_used: int | None = None
    first_loss: float | None = None
    best_loss: float | None = None
    best_step: int = 0
    losses: dict[int, float] = field(default_factory=dict)
    """Losses of the recordings that are held out, by step."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    refusal: str | None = None
    """Why the recordings cannot be trained on."""
    is_outdated: bool = False
    """Refused because it began with other options than voices are trained with now."""
    is_written: bool = False
    sampled: list[str] = field(default_factory=list)
    """Folders of steps whose samples are spoken."""

    def told(self, samples: Sequence[Sample], names: Mapping[str, str]) -> dict[str, Any]:
        """As JSON. names: what clients call recordings, by id."""
        steps = sorted(self.losses)
        kept = steps[:: len(steps) // _MOST_LOSSES + 1]
        return {
            "stage": self.stage,
            "share": self.share,
            "step": self.step,
            "seconds_left": self.seconds_left,
            "seconds_per_step": self.seconds_per_step,
            "cpu_share": self.cpu_share,
            "seconds_of_speech": self.seconds_of_speech,
            "recordings_used": self.recordings_used,
            "first_loss": self.first_loss,
            "best_loss": self.best_loss,
            "best_step": self.best_step,
            "losses": [[step, self.losses[step]] for step in kept],
            "findings": [_by_name(finding, names) for finding in self.findings],
            "samples": [asdict(sample) for sample in samples[:_MOST_SAMPLES]],
        }


def _by_name(finding: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    message = finding["message"]
    for id in finding["recordings"][:1]:  # the one that it names
        message = message.replace(f"{id}.wav", names.get(id, id))
    return finding | {"message": message}


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 2)


def read_progress(journal: Path) -> Progress:
    """The progress in a journal, which may not be there yet. Blocks. Raises OSError."""
    if journal.is_file() and journal.stat().st_size > MOST_BYTES:
        raise OSError("the journal of a training is too large")
    return progress_of(read_lines(journal))


def progress_of(lines: Iterable[dict[str, Any]]) -> Progress:
    """What the lines of a journal come to."""
    progress = Progress()
    for line in lines:
        _understand(line, progress)
    return progress


def _understand(line: dict[str, Any], progress: Progress) -> None:
    match line:
        case {"state": "loading"}:
            progress.stage, progress.findings = "preparing", []
            progress.share = progress.cpu_share = None
            progress.refusal, progress.is_outdated, progress.is_written = None, False, False
        case {"state": "found", "kind": str(kind), "files": list(files), "message": str(message)}:
            recordings = [str(file).removesuffix(".wav") for file in files]
            told = {"kind": kind, "message": message[:_MESSAGE_CHARACTERS], "recordings": recordings}
            progress.findings.append(told)
        case {
            "state": "examining" | "encoding" as state,
            "share": int() | float() as done,
            "cpu_share": int() | float() | None as share,
        }:
            progress.share = round(done, 2) if state == "encoding" else None
            progress.cpu_share = _rounded(share)
        case {"state": "encoded", "recordings": int(count), "seconds_of_speech": float(seconds)}:
            progress.recordings_used, progress.seconds_of_speech = count, round(seconds, 1)
            progress.share = None
        case {"state": "resumed", "step": int(step)}:
            progress.stage, progress.step = "training", step
        case {"state": "validated", "step": int(step), "loss": float(loss), "best": int(best)}:
            progress.stage, progress.step = "training", step
            progress.losses[step] = round(loss, 4)
            progress.first_loss = progress.losses[min(progress.losses)]
            progress.best_step = best
            progress.best_loss = progress.losses.get(best, progress.best_loss)
        case {
            "state": "training",
            "step": int(step),
            "seconds_left": int() | float() as left,
            "seconds_a_step": int() | float() as pace,
            "cpu_share": int() | float() | None as share,
        }:
            progress.stage, progress.step, progress.seconds_left = "training", step, round(left, 1)
            progress.seconds_per_step = round(pace, 2)
            progress.cpu_share = _rounded(share)
        case {"state": "sampled", "folder": str(folder)}:
            progress.sampled.append(folder)
        case {"state": "written", "over": True}:
            progress.stage, progress.seconds_left, progress.is_written = "finishing", 0.0, True
        case {"state": "refused", "message": str(message)}:
            progress.refusal = message[:_MESSAGE_CHARACTERS]
            progress.is_outdated = line.get("outdated") is True
        case _:
            return
