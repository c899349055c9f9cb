"""Child processes: started on a device and a port, kept alive, ended without orphans.

child_process.py   one run of one child
parent_watch.py    in the child: it ends with its supervisor
service.py         one child kept alive: probed, restarted with back-off, stopped
worker_service.py  a worker as such a child
devices.py         which device each worker gets
ports.py           which ports are free; one is held for each worker
"""
