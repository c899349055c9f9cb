"""The Python client: `Client` for plain code, `AsyncClient` for asyncio, `stream_speech` for one clip.

from voxfleet.client import Client

with Client("http://127.0.0.1:8006") as client:
    Path("hello.wav").write_bytes(client.speak("Hello.").audio)

asynchronous.py  `AsyncClient`; synchronous.py: `Client`, which runs it on the loop of background.py
streaming.py     one clip over `WS /ws/tts` that outlives connections and gateways
live.py          a live session
chat.py          answers of a text model
trainings.py     voices that are trained
transport.py     requests over HTTP; errors.py: the service's errors as exceptions
repeats.py       what is sent again where the connection was lost
connection.py    addresses, and the API key; forms.py: what calls are made of
"""

from voxfleet.client.asynchronous import AsyncClient, Speech
from voxfleet.client.chat import ChatAnswer, ChatStream
from voxfleet.client.errors import (
    AuthenticationError,
    CapacityError,
    InvalidRequestError,
    ServerError,
    SpeechError,
    UnreachableError,
)
from voxfleet.client.live import LiveSession
from voxfleet.client.streaming import stream_speech
from voxfleet.client.synchronous import Client, SyncChatStream, SyncLiveSession
from voxfleet.client.trainings import AsyncTrainings, SyncTrainings

__all__ = [
    "AsyncClient",
    "AsyncTrainings",
    "AuthenticationError",
    "CapacityError",
    "ChatAnswer",
    "ChatStream",
    "Client",
    "InvalidRequestError",
    "LiveSession",
    "ServerError",
    "Speech",
    "SpeechError",
    "SyncChatStream",
    "SyncLiveSession",
    "SyncTrainings",
    "UnreachableError",
    "stream_speech",
]
