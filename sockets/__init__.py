"""What gateway and worker share of their connections.

http/             requests, with bounds of length and time
authorities.py    who vouches for the other end of TLS
at_once.py        messages that need not wait go past ASGI
eager.py          a coroutine starts at once, and becomes a task only if it has to wait
cookies.py        of a request, which nobody here reads
outbox.py         messages on their way to a peer who may read slowly
stderr.py         a log that nobody reads holds nobody up
silence.py        noticing that nothing was heard, or said, for a while
own_time.py       time in which this process ran itself
untrusted.py      what a peer sent, made fit for a log
json_signs.py     how much there is in JSON that is not parsed yet
hangup.py         the terminal is closed
guesses.py        secrets: how easy to guess, and who guesses too often
setting_sources.py where settings come from: files, files of secrets, the environment
setting_words.py  what is wrong with settings, in words
"""
