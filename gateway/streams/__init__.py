"""What happens to a stream until it is complete.

clip.py          one clip: its text in parts, its pauses, and what was generated of it
start.py         what a worker is told to generate of it
clip_times.py    when its words are said
spoken.py        what attempts make of its present part, patch by patch
takes.py         a part of it that went wrong is spoken again
progress.py      how far it is
relay.py         what several workers deliver becomes that clip
parts.py         its text, cut into parts, in words where the model needs them
conditioning.py  the voice of a request on the wire
listener.py      what a client hears of its request
failover.py      whether it may be tried again; retry_budget.py how often all may
resume_token.py  what a client holds so that its clip survives the gateway
opening.py       the first message of a stream: a request or a token
succession.py    a resumed clip is spoken on one connection
interruption.py  ends what a task awaits, with a reason
"""
