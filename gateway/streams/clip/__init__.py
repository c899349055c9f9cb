"""One clip, whichever workers speak it.

clip.py          its pauses, and what was generated of it
text.py          its text, as the model reads it that speaks it
parts.py         how a text is cut into parts, in words where the model needs them
slices.py        all long texts are read in turns
start.py         what a worker is told to generate of it
conditioning.py  with which voice, on the wire
sample.py        whose voice its further parts have, where the model makes one up
spoken.py        what attempts make of its present part, patch by patch
takes.py         a part of it that went wrong is spoken again
progress.py      how far it is
times.py         when its words are said
"""
