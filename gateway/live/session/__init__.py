"""The session by itself: no sockets and no workers here.

session.py        what its client may do when, and which timers run
announcements.py  what its client is told
confirmations.py  pauses and resumptions that the worker has to confirm
states.py         its states, and the two sides that it talks to
splitter.py       text that arrives in pieces becomes sentences
timeline.py       which text is where in the audio, and what of it was heard
timers.py         what happens when nothing happens
first_audio.py    how long a listener waits while nothing is said
"""
