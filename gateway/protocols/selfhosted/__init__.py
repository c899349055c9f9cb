"""Clients of other servers that people run themselves, where these are asked by routes of their own.

kokoro.py  `/dev/captioned_speech` of Kokoro-FastAPI, whose other routes are OpenAI's
piper.py   Piper's HTTP server, at `/piper`
errors.py  errors as they read them
"""
