"""Recorded sessions: what was said, by whom and when, and how it sounded.

`Recorder` hears of speech while it is made, one thread writes the files, `SessionIndex` keeps one row per
session, `cleanup` removes what is old or too much. A recording never holds up or ends the speech it records.
"""

from gateway.sessions.recorder import Recorder, Recording

__all__ = ["Recorder", "Recording"]
