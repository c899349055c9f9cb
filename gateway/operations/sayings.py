"""What the event log says, by name: English for the API and logs, and facts with which a page says it in any
language. Each is one of the messages `admin.saying.NAME` of `frontend/static/js/i18n/`, too.
"""

from __future__ import annotations

from typing import Any

from gateway.slots.capacity.worker import LEFT

_BY = ", by the administrator at {who}"
SAYINGS = {
    "started": "the gateway started",
    "shutdown": "the gateway ends; {open} open",
    "drain": "drain" + _BY,
    "resume": "resume" + _BY,
    "restart": "restart" + _BY,
    "cancel": "cancel" + _BY,
    "cancel_several": "cancel of {count} requests" + _BY,
    "page_on": "{page} on" + _BY,
    "page_off": "{page} off" + _BY,
    "values": "{values}" + _BY,
    "entries": "{count} entries" + _BY,
    "model": "model {model}",
    "requests_open": "{open} requests open",
    "being_restarted": "it ended, and is started again",
    "not_started_again": "it was not started again",
    "new_process": "a new process answers",
    "left": LEFT,
    "registration_ended": "its registration ran out",
    "forgotten": "nothing was heard of it any more",
    "voice_added": "{owner} added the voice {voice}",
    "voice_deleted": "{owner} deleted the voice {voice}",
    "consent_given": "{owner} recorded a consent to the voice {voice}",
    "consent_withdrawn": "{owner} withdrew the consent to the voice {voice}",
    "adapter_added": "{owner} added the adapter {adapter}",
    "adapter_deleted": "{owner} deleted the adapter {adapter}",
    "adapter_consent_given": "{owner} recorded a consent to the adapter {adapter}",
    "adapter_consent_withdrawn": "{owner} withdrew the consent to the adapter {adapter}",
    "consent_sent": "{owner} sent the consent {consent}",
    "job_failed": "failed: {code}",
    "job_removed": "removed: {reason}",
    "take_better": "part {part} was {flaw} and spoken again: better",
    "take_no_better": "part {part} was {flaw} and spoken again: no better",
    "take_cut": "part {part} was {flaw} and cut",
    "refusing": "requests are refused: {outcome}",
    "refused": "{counts} refused in {seconds} s",
    "fleet_up_demand": "workers started: {count}; "
    "{asked} s of audio a second are asked for, {needed} with reserve, and those that run make {capacity}",
    "fleet_up_rising": "workers started: {count}; requests a second rose from {before} to {now}",
    "fleet_up_waiting": "workers started: {count}; {waiting} requests wait, the first for {seconds} s",
    "fleet_up_cold": "workers started: {count}; {model} is asked for and no worker serves it",
    "fleet_up_floor": "workers started: {count}; at least {least} are to run at this time",
    "fleet_up_late": "workers started: {count}; "
    "{late} of {heard} requests got their first audio or token later than after {seconds} s",
    "fleet_up_refused": "workers started: {count}; {refused} requests were refused",
    "fleet_up_underruns": "workers started: {count}; listeners had nothing to play {underruns} times",
    "fleet_up_version": "workers started: {count}; {former} run what the fleet file said before",
    "fleet_down": "a worker drains: at most {needed} of {running} were needed in the last {minutes} min",
    "fleet_down_idle": "the last worker drains: nobody asked for {model} in the last {minutes} min",
    "fleet_down_budget": "a worker drains: {running} run, and the budget allows {most}",
    "fleet_down_unplaced": "not needed any more: one of {waiting} workers that wait for a machine",
    "fleet_down_version": "a worker drains: it runs what the fleet file said before",
    "fleet_budget": "{count} more workers are needed, and the limits of the fleet do not allow them",
    "fleet_starts_fail": "{failed} starts in a row failed; one at a time is tried",
    "order_count": "{count} workers, whatever is asked for" + _BY,
    "order_by_need": "as many workers as are needed" + _BY,
    "order_end": "end of the fleet" + _BY,
    "fleet_no_help": "first audio or tokens are late with {used} of {slots} slots in use: "
    "more workers would not help",
}
_LONGEST_FACT = 160
_NAMES = {text: name for name, text in SAYINGS.items()}


def short(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts as they are kept: words of others are cut."""
    return {name: value[:_LONGEST_FACT] if isinstance(value, str) else value for name, value in facts.items()}


def name_of(text: str) -> str | None:
    """The saying that is this text; None for words of somebody else's."""
    return _NAMES.get(text)
