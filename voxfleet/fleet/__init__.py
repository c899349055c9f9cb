"""How many workers of each kind run, and why.

file/          the fleet file, which becomes rules, and its sections
autoscaling/   rules, what was seen, and what follows from both
commands.py    `voxfleet fleet ...`
controller.py  the loop: look, decide, carry out
place.py       where workers run; local.py is this machine, ray/ a cluster of Ray
rolling.py     workers of a former version of the fleet file are replaced
up.py          gateways here and workers in a place, from a fleet file; given.py what it is given
desk.py        what is said to a gateway, and heard of it; desks.py makes several look like one
observation.py from totals of the gateway to a window
log.py         its log
checkup.py     what a running service has and lacks; support.py a bundle of that
kubernetes/    manifests for a cluster
"""
