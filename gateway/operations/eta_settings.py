"""How waits are estimated, as an administrator sets it: bounded, and in force at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import from_validation
from gateway.slots.capacity.estimates import EtaTuning

logger = structlog.get_logger(__name__)

_DEFAULTS = EtaTuning()
_LIMITS = {"prior_seconds": (0.1, 3600.0), "alpha": (0.01, 1.0), "overdue_share": (0.01, 1.0)}


def _bounded(name: str) -> Any:
    low, high = _LIMITS[name]
    return Annotated[float, Field(ge=low, le=high)]


class EtaSettings(BaseModel):
    """The fields of `EtaTuning`, with their bounds."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    prior_seconds: _bounded("prior_seconds") = _DEFAULTS.prior_seconds
    alpha: _bounded("alpha") = _DEFAULTS.alpha
    overdue_share: _bounded("overdue_share") = _DEFAULTS.overdue_share


class EtaControl:
    """Keeps an `EtaTuning` in step with what is stored."""

    GROUP = "eta"

    def __init__(self, tuning: EtaTuning) -> None:
        self._tuning = tuning

    def changed_by(self, fields: Mapping[str, Any]) -> EtaSettings:
        """The settings with `fields` changed. Raises ApiError."""
        try:
            return EtaSettings.model_validate(vars(self._tuning) | dict(fields))
        except ValidationError as error:
            raise from_validation(error.errors()) from error

    def load(self, stored: Mapping[str, Any]) -> None:
        """Take over what the database has; a value that is out of bounds counts as not set."""
        for name in EtaSettings.model_fields:
            value = getattr(_DEFAULTS, name)
            if name in stored:
                try:
                    value = getattr(EtaSettings.model_validate({name: stored[name]}), name)
                except ValidationError:
                    logger.warning("a stored setting is not usable", setting=f"{self.GROUP}.{name}")
            setattr(self._tuning, name, value)

    def describe(self) -> dict[str, Any]:
        """`GET /api/settings/eta`."""
        values = {name: getattr(self._tuning, name) for name in EtaSettings.model_fields}
        return {**values, "limits": {name: list(limits) for name, limits in _LIMITS.items()}}
