"""What `python -m benchmarks.voice` measures beside held-out sentences (`judging/judge.py`).

hard.py        texts that trip small models
likeness.py    how much a clip sounds like the recording it was given
continuing.py  going on from a recording: words, and pitch at the seam
story.py       five minutes: whether voice, pace and words stay
speed.py       how fast speech is made
"""
