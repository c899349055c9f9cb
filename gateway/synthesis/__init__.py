"""A request for speech from its admission to its end.

synthesis.py   one clip
attempts.py    one worker after the other until a piece of speech is done
accounting.py  what is counted and logged at the end
preview.py     how a voice sounds
"""
