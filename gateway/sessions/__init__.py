"""Recorded sessions: what was said, by whom and when, and how it sounded.

A recording never holds up or ends the speech it records.

recorder.py    `Recorder`, which is `Gateway.recorder`
recording.py   one session while it is recorded, as the event loop sees it
witness.py     stands between a synthesis and its listener, and writes down what passes
storage/       the files of a session, and the thread that writes them
index.py       a row for each session
upkeep.py      rows follow files; sessions of gateways that died
cleanup.py     what is old or too much is removed
listing.py     sessions as the API lists them
search.py      which words are found in them
words.py       when their words were said
archive.py     several as one zip file
file_names.py  what files are called when they are downloaded
"""

from gateway.sessions.recorder import Recorder, Recording

__all__ = ["Recorder", "Recording"]
