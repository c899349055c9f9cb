"""How many workers of each kind run, and why.

file.py        the fleet file, which becomes rules
plan.py        what the rules ask for now, without any traffic
commands.py    `voxfleet fleet ...`
controller.py  the loop: look, decide, carry out
place.py       where workers run; local.py is this machine, ray/ a cluster of Ray
rolling.py     workers of a former version of the fleet file are replaced
up.py          gateways here and workers in a place, from a fleet file; given.py what it is given
desk.py        what is said to a gateway, and heard of it; desks.py makes several look like one
observation.py from totals of the gateway to a window
rules.py       what operators ask for: kinds of workers, floors, budget, objective
window.py      what was seen lately: requests for each model, workers of each kind
demand.py      how much audio is, and soon will be, asked for; how many slots keep the objective
outlook.py     one model: that against what its workers can make
autoscaler.py  the decision: one pure function of rules and window
decision.py    what is to be done, with reasons that the event log can say
choice.py      which of the workers that serve drains
kubernetes.py  manifests for a cluster
kubernetes_file.py, ray_file.py, training_file.py, share.py  sections of the fleet file
"""
