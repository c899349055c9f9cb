"""Deepgram's speech API, as its SDKs and the plugins of voice agents know it.

request.py  the query of `/v1/speak`, and what it means here
speak.py    `POST /v1/speak`
socket.py   `WS /v1/speak`: Speak, Flush, Clear, Close
errors.py   the shape of its errors
"""
