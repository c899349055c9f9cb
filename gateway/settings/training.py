"""Voices that are trained by recordings."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field


class TrainingSettings(BaseModel):
    """Voices that are trained by recordings, in processes that this gateway starts."""

    training_enabled: bool = True
    """Take trainings, where `training_base` is known."""
    training_base: str | None = None
    """What is trained: the speech model that the workers serve, bundled, a directory or a Hugging Face id.
    `voxfleet serve` fills in its own. None: nothing.
    """
    training_device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]{1,2})?)$")] = "cpu"
    """The device on which they run, cpu or cuda:N; best a GPU that does not serve."""
    training_niceness: Annotated[int, Field(ge=0, le=19)] = 10
    """How far they yield the CPUs to others: at 10 a tenth of a busy CPU is left, at 19 a seventieth."""
    trainings_at_once: Annotated[int, Field(gt=0)] = 1
    """Trainings that a gateway works on at the same time."""
    max_trainings: Annotated[int, Field(ge=0)] = 100
    """Trainings that the service keeps, finished ones included."""
    max_trainings_per_owner: Annotated[int, Field(ge=0)] = 5
    """Trainings of one owner, which is an API key or an address."""
    max_training_recordings: Annotated[int, Field(gt=0)] = 1000
    """The most recordings of one training."""
    max_training_minutes: Annotated[float, Field(gt=0, le=600, allow_inf_nan=False)] = 60
    """The most minutes of all recordings of one training."""

    @property
    def trains(self) -> bool:
        """Whether trainings are taken."""
        return self.training_enabled and self.training_base is not None
