"""Faults: workers and gateways that are killed, stopped, cut off and restarted. `python -m benchmarks.chaos`

faults.py          the scenarios, and what listeners notice of them
loads.py           how much of a scenario is run, and what became of the requests
long_clip.py       a chapter as one stream, whose worker and gateway are killed
bundled.py         the bundled voice, whose worker is killed or loses its device
ray_fleet.py       a fleet in a cluster of Ray under load; ray_nodes.py is such a cluster,
ray_growing.py     one to which Ray's own autoscaler adds nodes
fleet.py           gateways and workers as processes, and what can be done to them
fault_proxy.py     a proxy before a worker that delays, corrupts, stalls or cuts
listeners.py       clients that check every byte
lost_device.py     a worker that loses its device when it is told to
illegal_access.py  a kernel after which a device refuses everything
"""
