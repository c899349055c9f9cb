"""What the edge does to every connection.

addresses.py    addresses of clients
connections/    deadlines and limits that only a connection's protocol can keep
unfinished.py   answers that are cut, so that nobody takes them for the whole
certificate.py  the certificate that is shown, also after it was renewed
hosts.py        which host names requests may be addressed to
memory.py       what all clients together may have in memory of what they send
middleware.py   ids, hosts, senders, security headers, bounded bodies, metrics of each HTTP request
methods.py      HEAD wherever GET is, and the methods that a path has
paths.py        what holds of a path, or of all below it
outbox.py       messages on their way to one client
turns.py        how much of what clients send is read before everybody else has a turn
unread.py       large answers on their way: a piece at a time, and so much of them
"""
