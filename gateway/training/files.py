"""The folder of one training, whose names are ids of ours alone.

    data/trainings/{id}/
        recordings/{id}.wav   s16le mono as it was decoded
        train.jsonl           what is said in them, as `voxfleet finetune` reads it
        run/voice/            what that writes: the adapter, samples, and in work/ the state to go on from
        log.txt               what it said
        lock                  held by the gateway that works on it, and by its process

Functions and methods block, and raise OSError.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.files.disk import Disk
from gateway.files.folder_lock import FolderLock
from gateway.files.plain_files import open_file, read_file
from gateway.files.whole_files import write_atomically
from gateway.sessions.storage.files import remove_folder

NAME = "voice"
"""The folder that the process writes, below `run/`."""
MOST_SAMPLE_CHARACTERS = 2000
_TRAINING_ID = re.compile(r"t_[A-Za-z0-9_-]{22}")
_RECORDING_ID = re.compile(r"r_[A-Za-z0-9_-]{22}")
_SAMPLE_ID = re.compile(r"(best|[0-9]{1,7})-([0-9]{1,2})")
_STEP = re.compile(r"step_[0-9]{1,7}")
_WEIGHTS, _CONFIG = "lora_weights.safetensors", "lora_config.json"


def new_training_id() -> str:
    """128 random bits: whoever does not know it cannot guess it."""
    return f"t_{secrets.token_urlsafe(16)}"


def new_recording_id() -> str:
    """An id of a recording, as hard to guess."""
    return f"r_{secrets.token_urlsafe(16)}"


def is_training_id(text: str) -> bool:
    """Whether `text` has the form of an id, and so is safe as the name of a folder."""
    return _TRAINING_ID.fullmatch(text) is not None


@dataclass(frozen=True)
class Sample:
    """A held-out sentence that was spoken by what was learnt after `step` steps; None: by the best."""

    id: str
    step: int | None
    text: str


class TrainingFiles:
    """Reads and writes one folder."""

    def __init__(self, trainings: Path, training_id: str) -> None:
        """`trainings`: the folder of all. Raises ValueError for what is no id."""
        if not is_training_id(training_id):
            raise ValueError("not the id of a training")
        self.folder = trainings / training_id
        self.run = self.folder / "run"
        self.learnt = self.run / NAME
        self.journal = self.learnt / "work" / "progress.jsonl"
        self.log = self.folder / "log.txt"
        self._lock = FolderLock(self.folder / "lock")

    def create(self, disk: Disk) -> None:
        """A new folder. Raises FileExistsError, and OSError ENOSPC when too little is free."""
        disk.check()
        (self.folder / "recordings").mkdir(parents=True, mode=0o700)

    # -------------------------------------------------------------------------------------------- recordings

    def recording(self, recording_id: str) -> Path:
        """Raises ValueError for what is no id."""
        if not _RECORDING_ID.fullmatch(recording_id):
            raise ValueError("not the id of a recording")
        return self.folder / "recordings" / f"{recording_id}.wav"

    def add_recording(self, recording_id: str, wav: bytes, disk: Disk) -> int:
        """Write one more; how much disk space the training takes then."""
        disk.check()
        path = self.recording(recording_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, wav)
        return self.size_bytes()

    def remove_recording(self, recording_id: str) -> None:
        """Nothing happens when there is none."""
        self.recording(recording_id).unlink(missing_ok=True)

    def write_manifest(self, transcripts: Mapping[str, str]) -> None:
        """What is said in each recording, by its id."""
        lines = [
            json.dumps({"audio": f"recordings/{id}.wav", "text": text}, ensure_ascii=False)
            for id, text in transcripts.items()
        ]
        write_atomically(self.folder / "train.jsonl", "".join(f"{line}\n" for line in lines).encode())

    def forget_run(self) -> None:
        """What was learnt from other recordings is of no use."""
        remove_folder(self.run)

    # ----------------------------------------------------------------------------------------- what is learnt

    def samples(self) -> list[Sample]:
        """The samples there are, the latest first."""
        steps = sorted(self.learnt.glob("step_[0-9]*"), key=lambda folder: folder.name, reverse=True)
        folders = [("best", self.learnt), *((folder.name.removeprefix("step_"), folder) for folder in steps)]
        found = []
        for name, folder in folders:
            for clip in sorted((folder / "samples").glob("[0-9]*.wav")):
                id = f"{name}-{clip.stem}"
                if _SAMPLE_ID.fullmatch(id):
                    step = None if name == "best" else int(name)
                    found.append(Sample(id, step, _text_beside(clip)))
        return found

    def sample(self, sample_id: str) -> Path | None:
        """The file of one; None for what is no id of one."""
        match = _SAMPLE_ID.fullmatch(sample_id)
        if match is None:
            return None
        folder = self.learnt if match[1] == "best" else self.learnt / f"step_{match[1]}"
        path = folder / "samples" / f"{match[2]}.wav"
        return path if path.is_file() else None

    @property
    def weights(self) -> Path:
        """The weights of the adapter that was learnt."""
        return self.learnt / _WEIGHTS

    def digest_of_weights(self) -> str:
        """SHA-256 of the weights, in hex."""
        with open_file(self.weights) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    @property
    def config(self) -> str:
        """The adapter's configuration file."""
        return read_file(self.learnt / _CONFIG).decode()

    def thin_out(self, steps: Sequence[str]) -> None:
        """Keep of earlier steps, folders as the journal calls them, what can be heard."""
        for name in steps:
            if _STEP.fullmatch(name):
                (self.learnt / name / _WEIGHTS).unlink(missing_ok=True)

    def keep_samples_alone(self) -> None:
        """What a training needs no more whose voice is made."""
        remove_folder(self.journal.parent)
        for weights in self.learnt.rglob(_WEIGHTS):
            weights.unlink(missing_ok=True)

    # --------------------------------------------------------------------------------------------- the folder

    def size_bytes(self) -> int:
        """Disk space of all files."""
        sizes = []
        for path in self.folder.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                sizes.append(path.lstat().st_size if path.is_file() else 0)
        return sum(sizes)

    def lock(self) -> bool:
        """Become the one gateway that works on it. False when another is, or there is no folder."""
        return self._lock.acquire()

    @property
    def lock_descriptor(self) -> int:
        """For the process, which so holds the lock, too. Raises ValueError when it is not held."""
        if self._lock.descriptor is None:
            raise ValueError("the folder is not locked")
        return self._lock.descriptor

    def unlock(self) -> None:
        """Let others have it, once its process has ended."""
        self._lock.release()

    def remove(self) -> None:
        """All of it; nothing happens when there is none."""
        remove_folder(self.folder)


def _text_beside(clip: Path) -> str:
    try:
        text = read_file(clip.with_suffix(".txt")).decode()
    except (OSError, UnicodeDecodeError):
        return ""
    return text.strip()[:MOST_SAMPLE_CHARACTERS]
