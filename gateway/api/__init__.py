"""Routes and sockets, those of one concern in a file; `gateway/app.py` puts them together.

failures.py     what they answer when disk or database fail
permissions.py  who may call them, and to whom belongs what a caller makes
pages.py        the browser pages
speech/         what is spoken while somebody listens, and what there is to choose from
long_texts/     what is spoken while nobody waits: jobs, books and documents for them
voices/         how something sounds: voices, adapters, trainings, words of a lexicon
sessions/       recordings
operations/     what operators, their tools and workers that dial in ask for
transfer/       how messages and files come from clients and go to them; `gateway/protocols/` uses it, too
"""
