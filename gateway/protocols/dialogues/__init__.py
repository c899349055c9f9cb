"""Text that comes in pieces over a socket and is spoken meanwhile, for any protocol.

dialogue.py  one stretch of speech; silences.py: those within its text
hearing.py   who hears it
socket.py    one of them over one socket
contexts.py  several of them over one socket
encoded.py   one of those, whose audio is encoded
cast.py      the same of several voices in turn
"""
