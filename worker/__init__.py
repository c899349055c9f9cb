"""One speech engine behind a socket. Imports nothing: the gateway imports `worker.protocol` alone.

cli.py          `voxfleet worker`
server.py       the app on a socket: how it begins and ends
app.py          its routes and sockets
connections.py  how long a head may be, and may take
lifecycle.py    loading, serving, draining, failing; slots.py how many requests run
settings.py     every setting
drain.py        `voxfleet drain`: what a container runs before it is stopped
errors.py       every error on the wire
log.py          lines on standard error
figures.py      figures for telemetry
memory.py       how much of it this process holds
audio_input.py  audio files of clients: samples, or a refusal
audio_cache.py  audio that was encoded before
requests/       one request, from the message that brings it to its last frame
kinds/          speech and text on their way to the wire
engines/        which engine is served, and the adapters that it holds
gateways/       which gateways there are, who may talk, whose turn it is
protocol/       what crosses the wire
"""
