"""What benchmarks share.

fleet.py           real worker and gateway processes
http_client.py     the least client that can load a server
speech_clients.py  listeners, over the gateway's WebSocket and at a worker
adapter_work.py    what adapters are measured with
published.py       the published package as a yardstick
"""
