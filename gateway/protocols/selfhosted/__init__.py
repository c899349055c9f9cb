"""Clients of other servers that people run themselves, where these are asked by routes of their own.

kokoro.py    `/dev/captioned_speech` of Kokoro-FastAPI, whose other routes are OpenAI's
piper.py     Piper's HTTP server, at `/piper`
xtts.py      xtts-api-server, at `/xtts`
marytts.py   MaryTTS, at `/process` and `/marytts`
coqui.py     `/api/tts` of Coqui's server
forms.py     fields in an address, or in a form
speakers.py  voices that are named by a recording
errors.py    errors as they read them
"""
