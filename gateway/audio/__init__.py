"""Audio files.

formats.py   a whole clip in the format that was asked for
encoders.py  the same while the clip is generated
conversion.py  samples that are all there, to a file, piece by piece
samples.py   as numbers, and as bytes
wav.py       the header of a WAV file
chapters.py  chapter marks in them
note.py      what a file says about itself: a model made it
output.py    what happens to samples between model and listener
delivery.py  the same beside the event loop, where it takes long
fade.py      the end of audio that breaks off
tempo.py     speech at another speed
watermark.py an inaudible mark in the samples; perth.py: its networks
"""
