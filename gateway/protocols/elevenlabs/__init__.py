"""ElevenLabs' text to speech, as its SDKs, agents' frameworks and Home Assistant know it.

formats.py       `output_format`: codec, rate and bit rate in one word
request.py       the body and the query of a clip, and what they mean here
timing.py        characters with their times, in the two forms that clients know
speech.py        a clip over HTTP, four ways
lines.py         the same of several voices: `/v1/text-to-dialogue`
messages.py      what clients say over a socket
context.py       one stretch of speech over a socket
socket.py        `stream-input` and `multi-stream-input`
lines_socket.py  the same of `/v1/text-to-dialogue`
catalog.py       voices and models
errors.py        the shape of errors
"""
