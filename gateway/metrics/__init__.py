"""Every metric of the gateway, declared once.

metrics.py     those that are counted as things happen
collectors.py  those that are read when somebody asks

Labels come from fixed sets: routes, codes, worker ids, formats, protocols. Metrics of telemetry stand in
`telemetry/families.py`, since workers have them too.
"""

from gateway.metrics.metrics import Metrics, Snapshot

__all__ = ["Metrics", "Snapshot"]
