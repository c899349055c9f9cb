"""What benchmarks share.

fleet.py           real worker and gateway processes
http_client.py     the least client that can load a server
speech_clients.py  listeners, over the gateway's WebSocket and at a worker
machine_load.py    what computes on this machine
results.py         results of several runs in one file
adapter_work.py    what adapters are measured with
published.py       the published package as a yardstick
"""
