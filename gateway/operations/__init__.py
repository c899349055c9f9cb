"""What operators change and see at run time.

operations.py      `Operations`, which holds it together and is `Gateway.operations`
pages.py           which pages are on; page_gate.py: what one that is off answers
eta_settings.py    how waits are estimated
stored.py          such settings as rows of the database
event_log.py       who came and went, what was changed and by whom; sayings.py: in which words
worker_journal.py  what becomes of workers, for that log
overload.py        when requests were refused, for that log
overview.py        workers and queue as JSON
fleet.py           the controller of the workers, and orders to it; fleet_messages.py: as both are sent
restart.py         a worker restarts while it is used
measurements/      figures of the last days, promises, reports of players
"""
