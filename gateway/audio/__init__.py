"""Audio files.

formats.py   a whole clip in the format that was asked for
encoders.py  the same while the clip is generated
wav.py       the header of a WAV file
note.py      what a file says about itself: a model made it
watermark.py an inaudible mark in the samples; perth.py: its networks
"""
