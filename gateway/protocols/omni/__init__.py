"""vLLM-Omni's `/v1/audio/speech/stream` and `/v1/audio/speech/batch`, whose other routes are OpenAI's.

messages.py  what its clients say
speaker.py   what they hear: a dialogue, framed sentence by sentence
socket.py    the socket
batch.py     `/v1/audio/speech/batch`, several texts at once
"""
