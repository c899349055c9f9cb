"""One request, from the message that brings it to its last frame.

connection.py one socket of a gateway: its messages in, and at most one open request at a time
streams.py    one open request: the engine's outputs become frames, heartbeats in between
gathering.py  outputs that follow each other closely leave together
tracing.py    what is told of it as a part of the gateway's trace
"""
