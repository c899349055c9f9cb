"""Deepgram's speech API, as its SDKs and the plugins of voice agents know it.

request.py   the query of `/v1/speak` and `/v2/speak`, and what it means here
controls.py  pauses and pronunciations within a text
speak.py     `POST` of both
messages.py  what clients say over a socket
link.py      what the sockets of both have in common
socket.py    `WS /v1/speak`: Speak, Flush, Clear, Close
turns.py     `WS /v2/speak`: Speak, Flush, Interrupt, Configure, Close
errors.py    the shape of errors
"""
