"""Voices: those that the workers announce, and those that people record or upload.

catalog.py       the list of both, as the API shows it
fields.py        what a client may say of one
registry.py      the rows of custom voices, owners and names
absent.py        names that nobody has, remembered for a moment
uploads.py       how many uploads may be under way
recordings/      what uploads hold, and whether it is good enough
consent.py       what the speaker agreed to
recorded_consents.py  recordings in which somebody agrees
latents.py       the audio as a model takes it: encoded once by a worker, kept
clip_cache.py    how voices sound: clips that are made once
resolution.py    the voice of one request: `gateway.voices.resolve(name, tenant)`
service.py       `Voices`, which holds them together and is `Gateway.voices`
"""
