"""What Fish Audio's clients ask for: text, voice, format, rates and speed."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field

from gateway.audio.formats import bit_rate_problem, sample_rate_problem
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.lenient import Lenient
from gateway.requests import Text, TtsRequest, translated
from gateway.service import Gateway

FISH = "fish"
"""The protocol's name, in metrics and sessions."""
FORMATS = ("mp3", "wav", "pcm", "opus")
_RATE, _OPUS_RATE = 44_100, 48_000
"""Samples per second where nothing is said."""
_THEIR_VOICE = re.compile("[0-9a-f]{32}")
_KILO = 1000
"""Of bits per second, which some clients say in full for Opus; below 0 they are left to us."""


class Prosody(Lenient):
    """Of it, the speed."""

    speed: Annotated[float, Field(ge=0.25, le=4)] = 1.0


class SpeechBody(Lenient):
    """Fish Audio's names. Other fields, as those of sampling, are ignored."""

    text: Text = ""
    reference_id: Annotated[Text, Field(max_length=128)] = ""
    """Who speaks: a voice by id or name."""
    references: Annotated[list[Any], Field(max_length=0)] = []
    """None: a voice is made once, with the consent of who speaks, and named by `reference_id`."""
    format: Literal["mp3", "wav", "pcm", "opus"] = "mp3"
    sample_rate: Annotated[int, Field(ge=8000, le=48_000)] | None = None
    mp3_bitrate: int = 128
    opus_bitrate: int = -1
    normalize: bool = True
    """False: figures are not put into words."""
    prosody: Prosody = Prosody()

    @property
    def bit_rate(self) -> int | None:
        """Bits per second of the format."""
        given = {"mp3": self.mp3_bitrate, "opus": self.opus_bitrate}.get(self.format, 0)
        return None if given <= 0 else given if given >= 8 * _KILO else given * _KILO

    def _options(self, voice: str) -> dict[str, Any]:
        return {
            "voice": voice,
            "sample_rate": self.sample_rate or (_OPUS_RATE if self.format == "opus" else _RATE),
            "speed": self.prosody.speed,
            "normalize": "auto" if self.normalize else "off",
        }

    async def to_tts_request(self, gateway: Gateway) -> TtsRequest:
        """A clip. Raises ApiError."""
        options = self._options(await self._voice(gateway))
        return translated({**options, "text": self.text, "format": self.format, "bit_rate": self.bit_rate})

    async def to_start(self, gateway: Gateway) -> Start:
        """A live session. Raises ApiError."""
        start = Start(type="start", **self._options(await self._voice(gateway)))
        problems = {
            "sample_rate": sample_rate_problem(self.format, start.sample_rate),
            f"{self.format}_bitrate": bit_rate_problem(self.format, self.bit_rate),
        }
        for name, problem in problems.items():
            if problem:
                raise ApiError(422, "invalid_value", problem, param=name)
        return start

    async def _voice(self, gateway: Gateway) -> str:
        """One of theirs that nobody has here is the default one: plugins come with one."""
        id = self.reference_id
        is_theirs = not id or (_THEIR_VOICE.fullmatch(id) and not await gateway.voices.knows(id))
        return "default" if is_theirs else id
