"""Live sessions: text is appended while its speech streams out.

    splitter.py   text that arrives in pieces becomes sentences
    timeline.py   which text is where in the audio, and what of it was heard
    messages.py   what a client may say
    states.py     the states of a session, and who it talks to
    timers.py     what happens when nothing happens
    hosted.py     a session with all that belongs to it, for any protocol
    session.py    one session, without sockets and workers
    speech.py     the session's slot: sentence after sentence, paused, cut off, moved to another worker
    saying.py     the utterance that is being spoken, and what goes out of it
    at_work.py    the worker that speaks, told to rest or to go on
    witness.py    what is recorded
    first_audio.py how long a listener waits while nothing is said
    tracing.py    a trace for each utterance
    continuity.py what a sentence takes over from the one before

`gateway/api/speech/live.py` is the socket before it; for other protocols `gateway/protocols/dialogue.py`.
"""
