"""What workers have to give, and when.

worker.py     a worker as the pool sees it: health, slots, leases
trust.py      how far it is trusted after it failed
workers.py    all of them by id, and which models they offer
groups.py     workers of the same model; in each those with room, the least loaded first
sharing.py    slots that other gateways use, and turns with them
figures.py    how a worker has served lately
absence.py    how long a worker that restarts will be away
estimates.py  how long a place in line will wait
outlooks.py   keeps the answers
"""
