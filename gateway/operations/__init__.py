"""What operators change and see at run time: pages on and off, estimates, the event log, figures of the
last days, restarts.
"""

from gateway.operations.operations import Operations

__all__ = ["Operations"]
