"""OpenAI's API of speech and of text, as its SDKs and the many programs that speak it know it.

request.py  the body of `POST /v1/audio/speech`, and what it means here
events.py   the clip as server-sent events
speech.py   the routes that speak
models.py   models
chat.py     `POST /v1/chat/completions`; completions.py: `POST /v1/completions`
sampling.py the fields that both have; answers.py: answers whole, or as server-sent events
spoken.py   answers that are spoken while they are written; spoken_answers.py: as they are sent
voices.py   voices of one's own, and the consents that they are made under
errors.py   errors about an adapter that is named behind the model
"""
