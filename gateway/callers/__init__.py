"""Who is asking.

doorkeeper.py  which secret a request shows, and who has guessed too often
forwarded.py   the client behind a proxy
identity.py    the caller of a request: an API key's name or an address, and its limits
elsewhere.py   what a caller with limits has open at other gateways
origin.py      where a request comes from: this machine, a proxy, another site's page
turns.py       whose long work is done next
software.py    what a client runs, out of its `User-Agent`
"""
