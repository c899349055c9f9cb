"""What sections of a fleet file have in common, and what one worker asks its machine for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_GPUS = 16
"""The most GPUs of one worker."""


@dataclass(frozen=True)
class Share:
    """What a worker gets of a machine."""

    gpus: int
    cpus: float
    memory_gib: float


class StrictSection(BaseModel):
    """A part of a fleet file: a field that it does not have is an error."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RangeSection(StrictSection):
    """So many of something, from `least` to `most`."""

    least: int
    most: int

    @model_validator(mode="after")
    def check_most(self) -> Self:
        """`least` does not exceed `most`."""
        if self.least > self.most:
            raise ValueError(f"least is {self.least}, and most only {self.most}")
        return self


class ShareSection(StrictSection):
    """What one worker of a kind asks its machine for."""

    gpus: Annotated[int, Field(ge=0, le=MOST_GPUS)] | None = None
    """GPUs of one machine; 0: it computes on the CPU. None: as many as the kind's `tensor_parallel_size`
    where its device is cuda, or that is above 1 and the device not cpu; else 0."""
    cpus: Annotated[float, Field(gt=0, le=1024)] | None = None
    """None: 2, with a GPU 4."""
    memory_gib: Annotated[float, Field(gt=0, le=65_536)] | None = None
    """None: 2, with a GPU 16. On Kubernetes twice that is the limit."""

    def settled(self, device: str, ranks: int = 1) -> Share:
        """With what it does not say, for a kind of workers with this device and `tensor_parallel_size`."""
        on_gpus = device == "cuda" or (device == "auto" and ranks > 1)
        gpus = (ranks if on_gpus else 0) if self.gpus is None else self.gpus
        cpus, memory_gib = (4.0, 16.0) if gpus else (2.0, 2.0)
        return Share(gpus, self.cpus or cpus, self.memory_gib or memory_gib)
