"""What crosses to the workers.

client.py        one worker: requests over pooled WebSockets; control.py all else, over HTTP (http.py)
connection.py    one WebSocket; frame_stream.py what it brings for one request
health.py        probes; metronome.py tells a slow worker from a slow gateway
slot_watch.py    who may use a slot, where several gateways use one worker
roster.py        the client and the probe of every known worker
registration.py  workers that dial in; whereabouts.py where they are reached
"""
