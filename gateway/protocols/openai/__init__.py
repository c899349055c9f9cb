"""OpenAI's speech API, as its SDKs and the many programs that speak it know it.

request.py  the body of `POST /v1/audio/speech`, and what it means here
events.py   the clip as server-sent events
speech.py   the routes that speak
"""
