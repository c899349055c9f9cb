"""Several devices behind one `VoxCPM`, see `models.pool`. What is of speech:

pool.py      what `VoxCPM` has in place of an engine and its loop
loading.py   starts the processes
adapters.py  the adapters of all devices, changed on all or on none; adapter.py: one of them, while it is used
request.py   a request to speak, whichever device does
child.py     what such a process runs; serving.py: once it may import
"""
