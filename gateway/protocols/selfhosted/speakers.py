"""Voices as clients name them that know them by the recordings they are made of elsewhere."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field

from gateway.requests import Text
from gateway.service import Gateway

Speaker = Annotated[Text, Field(max_length=512)]
"""An id, a name or an alias, or "voices/ruth.wav"; "" is the default voice."""


async def named_voice(gateway: Gateway, speaker: str, tenant: str) -> str:
    """The voice: the name of a recording without its folder and ending, unless there is one of the whole."""
    if not speaker or await gateway.voices.knows(speaker, tenant):
        return speaker or "default"
    return re.split(r"[/\\]", speaker)[-1].removesuffix(".wav")
