"""Who gets a slot of a worker, and when.

pool.py          the whole: admits tickets, and has them wait for their leases
open_tickets.py  which are admitted, and how many each client has
leases.py        how a slot is given to a ticket, and given back
reports.py       what is heard of workers
requirement.py   what a request needs of a worker
dispatch.py      which ticket gets which free slot
admission.py     who is refused, and when to come back
grace.py         patience while no worker can serve a requirement
demand.py        what is asked for and felt, per model
line/            who waits, and whose turn it is
capacity/        what workers have to give, and when

`line` knows `capacity`, which knows requirements alone.
"""
