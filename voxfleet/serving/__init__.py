"""`voxfleet serve`: a gateway and its workers on this machine.

commands.py    `voxfleet serve`, `gateway`, `worker`, `drain`
serve.py       from settings to a plan; what is bound to fail is refused
supervisor.py  starts all of it, restarts what dies, ends it together
console.py     what is printed meanwhile
"""
