"""The adapter that a training learnt, and the voice that was made to speak with it.

Who trains on the page knows the voice alone, so it stands for both: the adapter has the consent that the
voice has, and goes with it.
"""

from __future__ import annotations

from gateway.adapters.fields import AdapterChange
from gateway.database import Adapter, Voice
from gateway.service import Gateway
from gateway.voices.catalog import adapter_of
from gateway.voices.fields import VoiceChange
from gateway.voices.registry import VOICES


def voice_id_of(adapter_id: str) -> str:
    """The id of the voice that is made of a training with its adapter."""
    return VOICES.id_of(adapter_id)


async def agree(gateway: Gateway, voice: Voice, change: VoiceChange, owner: str) -> None:
    """Give or withdraw the consent that `change` says, for the adapter that was learnt with the voice.

    Raises ApiError 503.
    """
    adapter = await _learnt_with(gateway, voice)
    if adapter is None or "consent_by" not in change.model_fields_set:
        return
    consent = {"consent_by": change.consent_by, "consent_statement": change.consent_statement}
    await gateway.adapters.change(adapter, AdapterChange(**consent))
    done = "withdrawn" if change.consent_by is None else "given"
    gateway.operations.log.say(
        "adapter", adapter.id, f"adapter_consent_{done}", owner=owner, adapter=adapter.id
    )


async def forget(gateway: Gateway, voice: Voice, owner: str) -> None:
    """Delete the adapter that was learnt with a voice, unless another voice speaks with it.

    Raises ApiError 503.
    """
    adapter = await _learnt_with(gateway, voice)
    if adapter is None or await _speaks_elsewhere(gateway, adapter, voice):
        return
    await gateway.adapters.remove(adapter.id)
    gateway.operations.log.say("adapter", adapter.id, "adapter_deleted", owner=owner, adapter=adapter.id)


async def _learnt_with(gateway: Gateway, voice: Voice) -> Adapter | None:
    reference = adapter_of(voice)
    if reference is None or voice.id != voice_id_of(reference) or not await gateway.adapters.has(reference):
        return None
    return await gateway.adapters.get(reference, None, is_admin=True)


async def _speaks_elsewhere(gateway: Gateway, adapter: Adapter, voice: Voice) -> bool:
    named = {adapter.id, adapter.name.casefold()}
    voices = await gateway.voices.visible_to(None, is_admin=True)
    return any(one.id != voice.id and (adapter_of(one) or "").casefold() in named for one in voices)
