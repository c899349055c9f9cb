"""Who waits, and whose turn it is.

tickets.py    `Ticket`, `Share` of a tenant, `Lease`
standing.py   class, tenant and cost of a request
queue.py      the waiting line: classes, ageing
fairness.py   tenants of one class take turns by audio served
charge.py     what tokens count for
positions.py  tells tickets where they stand
about.py      what operators are told of a request
"""
