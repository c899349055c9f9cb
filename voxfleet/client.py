"""A small asynchronous client of the streaming API, `WS /ws/tts`.

    async for item in stream_speech("http://127.0.0.1:8006", "Hello.", voice="default", seed=7):
        if isinstance(item, bytes):
            play(item)          # PCM, signed 16-bit little-endian, mono, at the rate "started" named
        else:
            print(item["type"])  # queued, queue_update, started, done

Leaving the loop early closes the socket, which cancels the request on the server.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

MAX_MESSAGE_BYTES = 16 << 20


class SpeechError(RuntimeError):
    """The server refused or failed the request, or cannot be reached. `code` is the server's, if it named
    one.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


async def stream_speech(base_url: str, text: str, **options: Any) -> AsyncIterator[dict[str, Any] | bytes]:
    """Yields the server's messages as dicts and the audio as bytes; ends after "done". Raises SpeechError.

    `options` are the other fields of a request, such as `voice`, `seed` and `cfg_value`.
    """
    url = base_url.rstrip("/").replace("http", "ws", 1) + "/ws/tts"
    try:
        async with connect(url, max_size=MAX_MESSAGE_BYTES, proxy=None) as socket:
            await socket.send(json.dumps({"text": text, "format": "pcm", **options}))
            async for message in socket:
                item = message if isinstance(message, bytes) else json.loads(message)
                if isinstance(item, dict) and item.get("type") == "error":
                    raise SpeechError(item["error"]["message"], item["error"].get("code"))
                yield item
                if isinstance(item, dict) and item.get("type") == "done":
                    return
    except (OSError, InvalidHandshake) as error:
        raise SpeechError(f"cannot reach {url}: {error}") from error
    except ConnectionClosed as error:
        raise SpeechError(f"the server closed the stream: {error}") from error
    raise SpeechError("the server ended the stream without saying that it is done")
