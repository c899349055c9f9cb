"""What is spoken while somebody listens.

stream.py   `WS /ws/tts`
live.py     `WS /ws/live`
encode.py   `POST /api/encode`: what was heard, in another format
catalog.py  `/api/config`: models, formats and limits

`POST /tts` stands in `gateway/protocols/native.py`, beside the protocols of other services.
"""
