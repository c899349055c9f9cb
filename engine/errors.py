"""What can go wrong in the engine, one class per party that has to react.

`RequestError` is the caller's to fix: it names the field and the limit, and fails one request. `OptionsError`
is for who sets an engine up. `EngineError`
is ours: the engine could not do what it promised; `DeviceLostError` ends the engine. `WeightError` is the
checkpoint's: it lists every key that is missing, unexpected or of the wrong shape.
"""

from __future__ import annotations

from collections.abc import Sequence

NO_CUDA = "PyTorch sees no CUDA device here"


class RequestError(ValueError):
    """A bad or impossible request.

    Attributes:
        message: what is wrong and, for a limit, what the limit is.
        param: name of the offending field, None when it is no single one.
        code: stable machine-readable reason.
    """

    def __init__(self, message: str, param: str | None = None, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code

    def __reduce__(self) -> tuple[type[RequestError], tuple[str, str | None, str]]:
        return type(self), (self.message, self.param, self.code)


class OptionsError(ValueError):
    """An option that is out of range, or does not go with another one or with the device."""


class EngineError(RuntimeError):
    """The engine failed or has stopped."""


class DeviceLostError(EngineError):
    """The device computes no more, and will not in this process: the engine has ended."""


MOST_NAMED = 8
"""How many names of each kind a `WeightError` mentions."""


class WeightError(EngineError):
    """A checkpoint that does not fit the module it is loaded into, or cannot be read.

    Attributes, of which its words name the first:
        missing: names the module has and the checkpoint lacks.
        unexpected: names the checkpoint has and the module lacks.
        mismatched: one sentence per tensor of the wrong shape or type.
    """

    def __init__(
        self,
        message: str,
        missing: Sequence[str] = (),
        unexpected: Sequence[str] = (),
        mismatched: Sequence[str] = (),
    ) -> None:
        self.missing = list(missing)
        self.unexpected = list(unexpected)
        self.mismatched = list(mismatched)
        parts = [message]
        for label, names in (
            ("missing", self.missing),
            ("unexpected", self.unexpected),
            ("wrong shape or type", self.mismatched),
        ):
            if names:
                more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
                parts.append(f"{label} ({len(names)}): {', '.join(names[:MOST_NAMED])}{more}")
        super().__init__("; ".join(parts))


def require(holds: bool, rule: str) -> None:
    """Raises EngineError where a rule of the KV cache is broken."""
    if not holds:
        raise EngineError(f"KV cache invariant broken: {rule}")
