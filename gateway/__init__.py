"""The edge of VoxFleet: HTTP and WebSocket API, queue, leases, health, failover and the pages served.

Knows of the rest of the project `worker.protocol` alone: no engine, no model, no torch.
"""
