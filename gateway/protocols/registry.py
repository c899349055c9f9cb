"""All protocols: what the application has to know of them."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.types import Scope

from gateway.errors import ErrorShape
from gateway.protocols import links, models, native, play
from gateway.protocols.cartesia import catalog as cartesia_catalog
from gateway.protocols.cartesia import errors as cartesia_errors
from gateway.protocols.cartesia import socket as cartesia_socket
from gateway.protocols.cartesia import speech as cartesia_speech
from gateway.protocols.deepgram import errors as deepgram_errors
from gateway.protocols.deepgram import socket as deepgram_socket
from gateway.protocols.deepgram import speak as deepgram_speak
from gateway.protocols.deepgram import turns as deepgram_turns
from gateway.protocols.elevenlabs import catalog as elevenlabs_catalog
from gateway.protocols.elevenlabs import errors as elevenlabs_errors
from gateway.protocols.elevenlabs import lines as elevenlabs_lines
from gateway.protocols.elevenlabs import lines_socket as elevenlabs_lines_socket
from gateway.protocols.elevenlabs import socket as elevenlabs_socket
from gateway.protocols.elevenlabs import speech as elevenlabs_speech
from gateway.protocols.fish import errors as fish_errors
from gateway.protocols.fish import socket as fish_socket
from gateway.protocols.fish import speech as fish_speech
from gateway.protocols.omni import batch as omni_batch
from gateway.protocols.omni import socket as omni_socket
from gateway.protocols.openai import chat as openai_chat
from gateway.protocols.openai import completions as openai_completions
from gateway.protocols.openai import models as openai_models
from gateway.protocols.openai import speech as openai_speech
from gateway.protocols.openai import voices as openai_voices
from gateway.protocols.selfhosted import coqui, kokoro, marytts, piper, xtts
from gateway.protocols.selfhosted import errors as selfhosted_errors
from gateway.protocols.telephony import jambonz, jambonz_stream, vapi

ROUTERS: tuple[APIRouter, ...] = (
    *(native.router, play.router, links.router, models.router),
    *(openai_speech.router, openai_models.router, openai_voices.router),
    *(openai_chat.router, openai_completions.router),
    *(elevenlabs_speech.router, elevenlabs_socket.router, elevenlabs_catalog.router),
    *(elevenlabs_lines.router, elevenlabs_lines_socket.router),
    *(deepgram_speak.router, deepgram_socket.router, deepgram_turns.router),
    *(cartesia_speech.router, cartesia_socket.router, cartesia_catalog.router),
    *(fish_speech.router, fish_socket.router),
    *(kokoro.router, piper.router, xtts.router, marytts.router, coqui.router),
    *(omni_socket.router, omni_batch.router),
    *(vapi.router, jambonz.router, jambonz_stream.router),
)


def error_shape_of(scope: Scope) -> ErrorShape | None:
    """How errors are told to who sends this request; None: in our own shape."""
    protocols = (elevenlabs_errors, deepgram_errors, cartesia_errors, fish_errors, selfhosted_errors)
    shapes = (protocol.shape_of(scope) for protocol in protocols)
    return next((shape for shape in shapes if shape is not None), None)
