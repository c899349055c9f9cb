"""A request for speech from its admission to its end.

served.py      one request, whatever is made for it
synthesis.py   one clip
feed.py        its audio on its way to the listener
attempts.py    one worker after the other until a piece of speech is done
trail.py       its tickets and workers, by which logs of workers tell of it
patience.py    what has begun comes again where there is no room
retakes.py     what is told of a part that was spoken again
accounting.py  what is counted and logged at the end
tracing.py     what a trace tells of it
preview.py     how a voice sounds
"""
