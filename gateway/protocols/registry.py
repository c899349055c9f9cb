"""All protocols: what the application has to know of them."""

from __future__ import annotations

from fastapi import APIRouter

from gateway.protocols import links, models, native, play
from gateway.protocols.openai import models as openai_models
from gateway.protocols.openai import speech as openai_speech

ROUTERS: tuple[APIRouter, ...] = (
    *(native.router, play.router, links.router, models.router),
    *(openai_speech.router, openai_models.router),
)
