"""The part of telemetry that needs OpenTelemetry's SDK.

exports.py  the exporters of a process, and their end
batches.py  what waits to be sent, and the threads that send it
resource.py what a process tells of itself
traces.py   spans, and which traces are kept
metrics.py  the metrics of `prometheus_client` as OpenTelemetry has them
logs.py     log events as OpenTelemetry has them
"""
