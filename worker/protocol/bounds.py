"""What a worker says is believed within these bounds, and no further.

Ids and figures beyond them are refused. Words for people are cut, so that a long reason never hides that
there is one. Imported through `worker.protocol`.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

MAX_SLOTS = 4096
"""The most slots of one worker."""
MAX_STATUS_BYTES = 1 << 16
"""No status is larger as JSON."""
MAX_ANSWER_BYTES = 1 << 16
"""No message of a worker in words is larger; frames of audio have `MAX_FRAME_BYTES`."""
MAX_VOICES = 1000
MAX_TOKENS = 1 << 20
"""The most tokens of a prompt, and of an answer."""
_MAX_WORDS = 1000
_MAX_RATE = 384_000


def cut(value: object, length: int = _MAX_WORDS) -> object:
    """The first `length` characters of a text; anything else as it is."""
    return value[:length] if isinstance(value, str) else value


def _in_one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("holds line breaks or control characters")
    return text


Id = Annotated[str, Field(pattern=r"^[!-~]{1,64}\z")]
Name = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_in_one_line)]
"""The name of a model, a voice or a device."""
Label = Annotated[str, Field(max_length=64), AfterValidator(_in_one_line)]
Words = Annotated[str, BeforeValidator(cut)]
"""For people to read."""
Build = Annotated[str, Field(pattern=r"^[A-Za-z0-9.+_-]{0,64}\z")]
"""Which build a process runs (`telemetry.build`); workers of older versions say none."""
Code = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,63}\z")]
TokenId = Annotated[int, Field(ge=0, le=2**31 - 1)]
Slots = Annotated[int, Field(ge=0, le=MAX_SLOTS)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Step = Annotated[int, Field(ge=0, le=2**64 - 1)]
Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
SampleRate = Annotated[int, Field(ge=1, le=_MAX_RATE)]
