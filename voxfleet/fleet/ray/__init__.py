"""A cluster of Ray as a place for workers. Needs the extra `ray`, which is imported here alone.

up.py          `voxfleet fleet up` with `place: ray`: a gateway here, the controller in the cluster
cluster.py     the way into a cluster, or one of this machine alone
controller.py  the actor that keeps as many workers as are needed; Ray starts it again
place.py       what it needs of a place, by actors
worker.py      the actor that keeps one worker process alive
actors.py      how these are made, found and removed
assignment.py  what the controller is told, and where it is kept
events.py      an event loop beside the thread of an actor
"""
