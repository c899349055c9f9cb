"""Faults: workers and gateways that are killed, stopped, cut off and restarted."""
