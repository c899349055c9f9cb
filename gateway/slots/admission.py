"""Why a request is refused before it waits, and when to come back.

Every refusal for lack of capacity carries a Retry-After computed from the outlook of the queue, so that a
client that keeps to it finds room.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from gateway.errors import ApiError
from gateway.slots.capacity.estimates import DEFAULT_SERVICE_SECONDS, Outlook
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.queue import TicketQueue
from gateway.slots.line.standing import Standing
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement
from worker.protocol import ADAPTERS_UNSUPPORTED, INSTRUCTIONS_UNSUPPORTED

_NO_WORKER_RETRY_SECONDS = 5.0
_PROMPT = "prompt"
"""The feature of a model that continues recordings; who lacks it is not refused for want of another one."""


def why_unservable(workers: Collection[Worker], requirement: Requirement) -> ApiError | None:
    """Why no worker could serve the requirement now or, as far as is known, soon; None when one could."""
    if any(worker.serving and worker.offers(requirement) for worker in workers):
        return None
    if any(worker.pending and (worker.model is None or worker.offers(requirement)) for worker in workers):
        return None
    known = [worker for worker in workers if worker.model is not None]
    if requirement.adapters and (problem := _why_no_adapter(workers, requirement)):
        return problem
    if requirement.instructions and (problem := _why_no_instructions(workers, requirement)):
        return problem
    begun = requirement.revision is not None
    offered = any(worker.offers(requirement) for worker in known)
    if begun or offered or not any(worker.serving for worker in workers):
        message = "no worker is up that can serve this request"
        return ApiError(503, "no_worker", message, retry_after_seconds=_NO_WORKER_RETRY_SECONDS)
    return _what_nobody_has(known, requirement)


def _what_nobody_has(known: Collection[Worker], requirement: Requirement) -> ApiError:
    """The first of model, voice and features that no worker has whose model is `known`."""
    named, kind = requirement.model, requirement.kind
    having_the_voice = [
        worker for worker in known if worker.offers(Requirement(named, requirement.voice, kind=kind))
    ]
    if having_the_voice:
        wanted = " or ".join(sorted(requirement.features))
        if kind == "text":
            message = f"the model has no {wanted} template"
            return ApiError(422, "chat_not_supported", message, param="messages")
        message = f"the model takes no {wanted} audio, which this voice needs"
        if any(_PROMPT in worker.model.features for worker in having_the_voice):
            message += "; it takes a recording whose words it knows: give the voice a transcript"
        return ApiError(422, "voice_not_supported", message, param="voice")
    if any(worker.offers(Requirement(named, kind=kind)) for worker in known):
        return ApiError(404, "unknown_voice", f"there is no voice {requirement.voice!r}", param="voice")
    sort = "model" if kind == "speech" else f"{kind} model"
    message = f"there is no {sort} here" if named is None else f"there is no {sort} {named!r}"
    return ApiError(404, "unknown_model", message, param="model")


def _why_no_adapter(workers: Collection[Worker], requirement: Requirement) -> ApiError | None:
    """Why those that serve the model cannot speak with the adapter; None where nobody serves it."""
    named = requirement.model
    same_model = [worker for worker in workers if worker.serving and worker.offers(Requirement(named))]
    if not same_model or any(worker.offers(requirement) for worker in workers):
        return None
    model = named or "the model"
    if not any(worker.offers(Requirement(named, adapters=True)) for worker in same_model):
        which = "those with a VoxCPM model do, on GPUs with adapter_slots above 0"
        message = f"no worker here takes adapters for {model}: {which}"
        return ApiError(422, ADAPTERS_UNSUPPORTED, message, param="adapter")
    if not any(worker.offers(Requirement(named, revision=requirement.revision)) for worker in same_model):
        message = f"the adapter is for other weights of {model} than those that are served"
        return ApiError(422, "adapter_of_another_model", message, param="adapter")
    return None


def _why_no_instructions(workers: Collection[Worker], requirement: Requirement) -> ApiError | None:
    """Why nobody who has the voice can be told how to speak; None where nobody has it, or somebody can."""
    named, voice = requirement.model, requirement.voice
    if any(worker.offers(Requirement(named, voice, instructions=True)) for worker in workers):
        return None
    if not any(worker.serving and worker.offers(Requirement(named, voice)) for worker in workers):
        return None
    message = f"{named or 'the model'} follows no instructions: VoxCPM2 does"
    return ApiError(422, INSTRUCTIONS_UNSUPPORTED, message, param="instructions")


def who_must_go(
    queue: TicketQueue, newcomer: Ticket, outlook: Outlook, max_queue: int, max_wait_seconds: float
) -> tuple[Ticket, ApiError] | None:
    """Who is refused because `newcomer` waits too, and why.

    Itself when it would not start before its deadline; when the queue is full, whoever has the least claim.
    """
    wait_seconds = outlook.wait(newcomer.position)
    if outlook.measured and wait_seconds is not None and wait_seconds > max_wait_seconds:
        message = (
            f"the wait would be about {wait_seconds:.0f} s, and a request may wait {max_wait_seconds:g} s"
        )
        excess_seconds = wait_seconds - max_wait_seconds
        return newcomer, ApiError(429, "wait_too_long", message, retry_after_seconds=excess_seconds)
    if len(queue) <= max_queue:
        return None
    message = f"the queue is full: {max_queue} requests may wait"
    half_served_seconds = outlook.wait(1 + max_queue // 2)
    problem = ApiError(429, "queue_full", message, retry_after_seconds=half_served_seconds)
    return queue.displaced_by(newcomer, max_queue), problem


def too_many_streams(standing: Standing, tickets: Iterable[Ticket], outlook: Outlook, now: float) -> ApiError:
    """The client has as many requests open as it may. Come back when the first of them has probably ended."""
    own = (ticket for ticket in tickets if ticket.standing.tenant == standing.tenant)
    first_end_seconds = min((_ends_in_seconds(ticket, outlook, now) for ticket in own), default=0.0)
    message = f"{standing.max_streams} requests of this client are open, and no more may be"
    wait_seconds = max(first_end_seconds, outlook.wait(1) or 0.0)
    return ApiError(429, "too_many_streams", message, retry_after_seconds=wait_seconds)


def _ends_in_seconds(ticket: Ticket, outlook: Outlook, now: float) -> float:
    """As far as can be told from how long requests take."""
    if ticket.lease is not None:
        return ticket.lease.worker.service_time.remaining(now - ticket.lease.granted_at)
    return (outlook.wait(max(ticket.position, 1)) or 0.0) + DEFAULT_SERVICE_SECONDS
