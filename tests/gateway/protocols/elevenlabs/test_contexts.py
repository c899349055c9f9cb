"""What the contexts of a socket ask of their dialogues."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gateway.protocols.elevenlabs.context import Context
from gateway.protocols.elevenlabs.lines_socket import LinesContext
from gateway.protocols.elevenlabs.messages import Message
from gateway.protocols.elevenlabs.socket import Connection


@pytest.mark.parametrize(("kind", "is_told"), [(Context, False), (LinesContext, True)])
def test_only_flushes_of_which_the_client_hears_wait_to_be_told(kind: type[Context], is_told: bool) -> None:
    """Others, which a client may send with each token, count nowhere."""
    flushes: list[bool] = []

    def flush(*, told: bool = True) -> None:
        flushes.append(told)

    context = kind.__new__(kind)
    context.dialogue = SimpleNamespace(finishing=False, has_text=True, append=len, flush=flush)
    Connection.__new__(Connection)._speak(context, Message(text="a", flush=True))
    assert flushes == [is_told]
