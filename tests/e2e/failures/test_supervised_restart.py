"""`voxfleet serve`: its only worker crashes in mid-sentence, starts again, and the listener hears a clip."""

from __future__ import annotations

import json
import os
import signal

from websockets.sync.client import connect

from tests.e2e.processes import free_port, server
from tests.gateway.stages.processes import LONG_TEXT, pcm_of


def test_a_crash_of_the_only_worker_is_a_pause_and_nothing_more() -> None:
    port = free_port()
    arguments = ["serve", "--port", str(port), "--workers", "1", "--model", "synthetic"]
    pcm, ending, killed = b"", {}, False
    with server(arguments, port, "/ready", {"VOXFLEET_FAILOVER_TIMEOUT_SECONDS": "60"}) as running:
        with connect(f"ws://127.0.0.1:{port}/ws/tts", proxy=None, max_size=None) as socket:
            socket.send(json.dumps({"text": LONG_TEXT, "seed": 9}))
            for message in socket:
                if isinstance(message, str):
                    ending = json.loads(message)
                    continue
                pcm += message
                if not killed:
                    (worker,) = running.get_json("/api/workers")["workers"]
                    os.kill(worker["pid"], signal.SIGKILL)
                    killed = True
    assert ending["type"] == "done", ending
    assert ending["migrations"] == 1
    assert pcm == pcm_of(LONG_TEXT, 9)
