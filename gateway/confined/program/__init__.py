"""The program that reads uploads: `python -I gateway/confined/program FOLDER SECONDS ...`.

It imports nothing else of ours but the module `reader` of FOLDER, which knows one kind of file.

__main__.py   what it does, in which order
refusal.py    how a reader says why it takes a file not
sandbox.py    what keeps a reader that was taken over from doing anything else
"""
