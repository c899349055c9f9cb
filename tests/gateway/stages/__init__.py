"""What tests of the gateway run it on: each is a stage with everything that a gateway meets.

processes.py        real gateways and workers, started as users start them, and clients for them
fleet.py            a pool whose clock tests turn, and what workers say to it
scripted_worker.py  a worker on a socket that keeps the protocol until its script says otherwise
faults.py           what it does then

What is staged for one room alone stands there: `jobs/stage.py`, `live/stage.py`, `streams/stage.py`,
`training/stage.py`.
"""
