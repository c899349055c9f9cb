"""The edge of VoxFleet: HTTP and WebSocket API, queue, leases, health, failover and the pages served.

Of the rest of the project it imports `worker.protocol`, `models.sentences`, `models.denoising`, `sockets` and
`telemetry`: no engine, no torch. ARCHITECTURE.md lists the rooms of this folder in their order. Beside them:

cli.py            `voxfleet gateway`
app.py            `create_app(settings)`: all of it but the listening socket
service.py        what belongs to one running gateway
requests.py       which fields a request may have, within which limits
bounds.py         how many fields and entries there are at most
bodies.py         what the models of JSON bodies have in common, how much JSON is read
errors.py         the one error shape
log.py            log events, without any text or secret
finishing.py      work that goes to its end, whatever happens to who asked
yielding.py       work that leaves the CPUs to others
heaps.py          memory that threads give back serves others
"""
