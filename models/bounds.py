"""Which values a field of a request or of a file may hold, and which options there are.

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
from typing import Any, get_args, get_type_hints

from engine.errors import OptionsError, RequestError


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
    """Raises OptionsError naming a field of this dataclass that is out of its bounds.

    None is in those of a field that may be None.
    """
    optional = _optional(options)
    for name, allowed in bounds.items():
        value = getattr(options, name)
        if not allowed.hold(value) and not (value is None and name in optional):
            raise OptionsError(f"{name} must be {allowed}, got {value!r}")


def check_switches(options: object) -> None:
    """Raises OptionsError naming a field of this dataclass that is on or off by default and is neither."""
    for field in fields(options):
        if isinstance(field.default, bool):
            check_switch(field.name, getattr(options, field.name))


def check_switch(name: str, value: object, of_request: bool = False) -> None:
    """Raises OptionsError, or RequestError, for what is neither True nor False: "no" would count as true."""
    if not isinstance(value, bool):
        problem = f"{name} must be True or False, got {value!r}"
        raise RequestError(problem, name) if of_request else OptionsError(problem)


def check_choices(options: object, choices: Mapping[str, Sequence[str]]) -> None:
    """Raises OptionsError naming a field of this dataclass that is none of its choices; None see above."""
    optional = _optional(options)
    for name, known in choices.items():
        value = getattr(options, name)
        if value not in known and not (value is None and name in optional):
            raise OptionsError(f"{name} must be one of {', '.join(known)}, got {value!r}")


def check_known(given: Iterable[str], options: type) -> None:
    """Raises OptionsError naming what is no field of the dataclass `options`, and what is."""
    known = [field.name for field in fields(options)]
    if unknown := sorted(set(given) - set(known)):
        raise OptionsError(f"there is no option {', '.join(unknown)}, only {', '.join(known)}")


def take_eager(enforce_eager: bool, options: dict[str, Any]) -> None:
    """Puts what other packages call so among `options` that name no `graphs`. Raises OptionsError."""
    check_switch("enforce_eager", enforce_eager)
    if enforce_eager:
        options.setdefault("graphs", "off")


def _optional(options: object) -> set[str]:
    """The fields of a dataclass that may be None."""
    hints = get_type_hints(type(options))
    return {name for name, hint in hints.items() if type(None) in get_args(hint)}
