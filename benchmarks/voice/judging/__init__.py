"""Who judges clips, and by what.

judges.py        models that hear: opinion, words, speaker
measures.py      what can be measured: wrong words, pitch, length, jumps
judge.py         held-out sentences by both, beside the teacher's own audio
spectrograms.py  clips to look at
"""
