"""Speech to learn from: the teachers who read sentences aloud, and what they said.

teachers.py   who reads: two natural voices, flite, and strangers made of them
flite.py      flite's small voices, through ctypes
synthesis.py  the teachers in many processes, and the files that they write
dataset.py    their speech in device memory
hearing.py    the same at the 16 kHz that the encoder hears
"""
