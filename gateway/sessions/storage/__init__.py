"""A session on disk: a folder that is readable after a crash at any moment.

files.py            its files, and how they are written
wav.py              WAV files that grow
timeline.py         what the lines of its journal add up to
shape.py            what has to be in it
recording_files.py  it grows, and is brought to its end
spoken.py           a part of its text with the audio
writer.py           the one thread that writes
"""
