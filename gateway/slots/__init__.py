"""Who gets a slot of a worker, and when.

pool.py         the whole: admits tickets, grants leases, hears of workers
requirement.py  what a request needs of a worker
tickets.py      `Ticket`, `Share` of a tenant, `Lease`
worker.py       a worker as the pool sees it: health, slots, leases
sharing.py      slots that other gateways use, and turns with them
queue.py        the waiting line: classes, ageing
fairness.py     tenants of one class take turns by audio served
standing.py     class, tenant and cost of a request
dispatch.py     which ticket gets which free slot
admission.py    who is refused, and when to come back
estimates.py    how long a place in line will wait; outlooks.py keeps the answers
positions.py    tells tickets where they stand
grace.py        patience while no worker can serve a requirement
absence.py      how long a worker that restarts will be away
figures.py      how a worker has served lately
charge.py       what tokens count for
demand.py       what is asked for and felt, per model
"""
