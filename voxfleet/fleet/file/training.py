"""The section `training:` of a fleet file: whether the gateways train voices, of what and how.

training: {base: bundled, niceness: 10, at_once: 1}
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from voxfleet.fleet.file.share import StrictSection


class TrainingSection(StrictSection):
    """What is not said is as the settings of the gateway have it. They bound the rest."""

    base: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """The model of a kind of workers; those speak with what is learnt."""
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]{1,2})?)\z")] = "cpu"
    niceness: Annotated[int, Field(ge=0, le=19)] = 10
    at_once: Annotated[int, Field(ge=1, le=64)] = 1
    """How many trainings run at once at each gateway."""

    def gateway_variables(self) -> dict[str, str]:
        """What is said, as settings of a gateway by the names that they have in its environment."""
        names = {
            "base": "VOXFLEET_TRAINING_BASE",
            "device": "VOXFLEET_TRAINING_DEVICE",
            "niceness": "VOXFLEET_TRAINING_NICENESS",
            "at_once": "VOXFLEET_TRAININGS_AT_ONCE",
        }
        said = self.model_dump(include=self.model_fields_set, exclude_none=True)
        return {names[name]: str(value) for name, value in said.items()}
