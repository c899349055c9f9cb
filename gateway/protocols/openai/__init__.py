"""OpenAI's speech API, as its SDKs and the many programs that speak it know it.

request.py  the body of `POST /v1/audio/speech`, and what it means here
events.py   the clip as server-sent events
speech.py   the routes that speak
models.py   models
voices.py   voices of one's own, and the consents that they are made under
"""
