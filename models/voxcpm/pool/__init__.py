"""Several devices behind one `VoxCPM`: an engine each, in a process of its own.

pool.py      what `VoxCPM` has in place of an engine and its loop: which device a request goes to
loading.py   starts the processes, which load at the same time
adapters.py  the adapters of all devices, changed on all or on none; adapter.py: one of them, while it is used
member.py    one device, whichever process it has: when that is lost, another one is started
device.py    one process, from outside
request.py   a request, whichever device speaks
child.py     what such a process runs; serving.py: once it may import
wire.py      what crosses between them
"""
