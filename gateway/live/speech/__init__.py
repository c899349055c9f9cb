"""The voice of a session: its slot, and sentence after sentence spoken there.

speech.py      when it queues for a slot, and how long it keeps one
speaking.py    what it does with one: speak, be paused, cut off, moved to another worker
speaker.py     who speaks: voice, model, seed and lexicon
saying.py      the utterance that is being spoken, and what goes out of it
continuity.py  what a sentence takes over from the one before
at_work.py     the worker that speaks, told to rest or to go on
witness.py     what is recorded
tracing.py     a trace for each utterance
"""
