"""Live sessions: text is appended while its speech streams out.

    splitter.py   text that arrives in pieces becomes sentences
    timeline.py   which text is where in the audio, and what of it was heard
    messages.py   what a client may say
    session.py    the states of a session, without sockets and workers
    speech.py     the session's slot: sentence after sentence, paused, cut off, moved to another worker
    sessions.py   all sessions of a gateway

`gateway/api/live.py` is the socket before it.
"""
