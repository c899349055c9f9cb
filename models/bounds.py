"""Which numbers a field of a request or of a file may hold, and which options there are.

bounds = Bounds(0, 1)
if not bounds.hold(value):
    raise ConfigError(f"share must be {bounds}, got {value!r}")  # share must be a number between 0 and 1
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real

from engine.errors import OptionsError


@dataclass(frozen=True)
class Bounds:
    """Which numbers a field may hold: finite ones from `low` to `high`; `above`: not `low` itself."""

    low: float
    high: float = math.inf
    whole: bool = False
    above: bool = False

    def hold(self, value: object) -> bool:
        """Whether a field may hold `value`; a truth value is no number."""
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        high = min(self.high, sys.float_info.max)
        return self.low <= value <= high and not (self.above and value == self.low)

    def __str__(self) -> str:
        """As in "must be a number between 0 and 1"."""
        kind = "a whole number" if self.whole else "a number" if self.high < math.inf else "a finite number"
        if self.high < math.inf:
            low = f"above {self.low} and at most" if self.above else f"between {self.low} and"
            return f"{kind} {low} {self.high}"
        return f"{kind} above {self.low}" if self.above else f"{kind} of at least {self.low}"


def check_numbers(options: object, bounds: Mapping[str, Bounds]) -> None:
    """Raises OptionsError naming an attribute that is out of its bounds; None is in all."""
    for name, allowed in bounds.items():
        value = getattr(options, name)
        if value is not None and not allowed.hold(value):
            raise OptionsError(f"{name} must be {allowed}, got {value!r}")


def check_choices(options: object, choices: Mapping[str, Sequence[str]]) -> None:
    """Raises OptionsError naming an attribute that is none of those that there are, nor None."""
    for name, known in choices.items():
        value = getattr(options, name)
        if value is not None and value not in known:
            raise OptionsError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def check_known(given: Iterable[str], options: type) -> None:
    """Raises OptionsError naming what is no field of the dataclass `options`, and what is."""
    known = [field.name for field in fields(options)]
    if unknown := sorted(set(given) - set(known)):
        raise OptionsError(f"there is no option {', '.join(unknown)}, only {', '.join(known)}")
