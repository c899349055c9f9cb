"""Several devices behind one model in Python: an engine each, in a process of its own. What families share.

pool.py      which device a request goes to, and where it goes on
loading.py   starts the processes, which load at the same time
member.py    one device, whichever process it has: when that is lost, another one is started
device.py    one process, from outside
request.py   a request, whichever device serves it
serving.py   the inside of such a process
wire.py      what crosses between them
"""
