"""Fish Audio's speech API, which fish-speech's own server has, too, as their SDKs and plugins know it.

packing.py  MessagePack, in which most of their clients write
request.py  the fields of a request, and what they mean here
speech.py   `POST /v1/tts`
socket.py   `WS /v1/tts/live`: start, text, flush, stop
errors.py   the shape of errors
"""
