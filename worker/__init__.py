"""One speech engine behind a socket. Imports nothing: the gateway imports `worker.protocol` alone."""
