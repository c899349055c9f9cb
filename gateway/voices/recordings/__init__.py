"""Recordings that somebody sends: what is in them, and whether a voice can be made of them.

decoding.py  any upload to PCM; decoder/ is what a confined child does for it
checks.py    what was heard in a recording, what is wrong with it, and how to put it right
regions.py   where in it
noise.py     without what is heard behind the speaker
loudness.py  how loud it is (ITU-R BS.1770)
"""
