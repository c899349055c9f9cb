"""What happens to a stream until it is complete.

clip/            what is spoken: a text in parts, and what was generated of it
resumption/      how a clip survives its gateway
relay.py         what several workers deliver becomes that clip
failover.py      whether it may be tried again; retry_budget.py how often all may
second_opinion.py  whether a worker is right that calls it wrong
listener.py      what a client hears of its request
interruption.py  ends what a task awaits, with a reason
"""
