"""Wyoming, the protocol of Home Assistant's voices, on a TCP port of its own (`wyoming_port`).

events.py     a line of JSON, data and payload: how events stand on the wire
server.py     the port, and who may connect
discovery.py  the announcement of the port on the local network
markup.py     texts that are SSML
speech.py     one connection: what is there, and speech
"""
