"""Cartesia's speech API, as its SDKs and the plugins of voice agents know it.

request.py  what a generation asks for, and what it means here
speech.py   `POST /tts/bytes` and `POST /tts/sse`
events.py   messages of a stream: chunks, times of words, the end
socket.py   `WS /tts/websocket`: many contexts; context.py: one of them
catalog.py  `GET /voices`, and `GET /` for its SDK
errors.py   the shape of its errors
"""
