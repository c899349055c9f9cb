"""Adapters: what fine-tuning learnt, sent by people, named by requests, kept ready by workers.

files.py     both files of each, as one, named by its digest; readable by whoever uses it after it was deleted
registry.py  the rows: owners and names
fields.py    what a client may say of one
speaker.py   a voice that speaks with an adapter: what a worker must offer, and is told
reading.py   what a worker finds in one
naming.py    "model:adapter", for clients that have no field for an adapter
catalog.py   how the API shows one
refitting.py those whose model is served with other defaults, and the same weights
service.py   `Adapters`, which holds them together and is `Gateway.adapters`
"""
