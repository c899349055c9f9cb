"""vLLM-Omni's `/v1/audio/speech/stream`, whose other routes are OpenAI's.

messages.py  what its clients say
speaker.py   what they hear: a dialogue, framed sentence by sentence
socket.py    the socket
"""
