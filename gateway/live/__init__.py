"""Live sessions: text is appended while its speech streams out.

messages.py   what a client may say
session/      one session, without sockets and workers
speech/       its slot: sentence after sentence, paused, cut off, moved to another worker
hosted.py     a session with all that belongs to it, for any protocol

`gateway/api/speech/live.py` is the socket before it; for other protocols `gateway/protocols/dialogues/`.
"""
