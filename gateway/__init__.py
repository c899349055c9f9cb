"""The edge of VoxFleet: HTTP and WebSocket API, queue, leases, health, failover and the pages served.

Of the rest of the project it imports `worker.protocol`, `models.sentences`, `sockets` and `telemetry`: no
engine, no torch. ARCHITECTURE.md lists the rooms of this folder in their order. Beside them:

cli.py            `voxfleet gateway`
app.py            `create_app(settings)`: all of it but the listening socket
service.py        what belongs to one running gateway
requests.py       which fields a request may have, within which limits
errors.py         the one error shape
metrics/          every metric
log.py            log events, without any text or secret
content_files.py  audio of voices, and adapters, by the hash of their content
whole_files.py    files that are written whole or not at all
kept_secrets.py   secrets made at the first start
folder_lock.py    one process works in a folder
disk.py           a floor of free disk
finishing.py      work that goes to its end, whatever happens to who asked
yielding.py       work that leaves the CPUs to others
version.py        of the installed distribution
"""
