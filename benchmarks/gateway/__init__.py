"""The gateway under load, with synthetic workers. `python -m benchmarks.gateway`

load.py             the command, and the figures as JSON
latency.py          what the gateway adds to chunks, and to the first audio
overload.py         three times the capacity: goodput, rejections, fairness
gateways.py         several gateways before one worker
queue.py            what decisions cost in themselves
leaks.py            what must not stay behind
telemetry.py        what OpenTelemetry costs; telemetry_roles.py is the gateway that it measures
"""
