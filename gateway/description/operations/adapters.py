"""Adapters: what fine-tuning learnt."""

from __future__ import annotations

from gateway.adapters.fields import AdapterForm
from gateway.description.operation import Given, Operation, Tag

_ID = {"id": Given("adapter")}

TAG = Tag(
    "Adapters",
    "What fine-tuning learnt (LoRA), to speak with. None is used without the consent of whose voice it is. "
    "Workers with a VoxCPM model take them, on CPUs and on GPUs (`adapter_slots`).",
    (
        Operation(
            "GET",
            "/api/adapters/consent",
            "What somebody agrees to with whose voice an adapter speaks",
            access="public",
            parameters={"language": "en"},
        ),
        Operation(
            "POST",
            "/api/adapters",
            "Send an adapter",
            file="weights",
            upload="application/octet-stream",
            form={
                "name": "anna",
                "config": '{"lora_config": {"enable_lm": true, "r": 4, "alpha": 8}}',
                "consent_by": "Anna Example",
                "consent_statement": "I agree that this voice is used.",
            },
            fields=AdapterForm,
            gives={"adapter": "id"},
        ),
        Operation("GET", "/api/adapters", "List adapters"),
        Operation("GET", "/api/adapters/{id}", "Look at an adapter", parameters=_ID),
        Operation(
            "PATCH",
            "/api/adapters/{id}",
            "Change what is said of an adapter",
            parameters=_ID,
            body={"description": "A calm voice"},
        ),
        Operation("DELETE", "/api/adapters/{id}", "Delete an adapter", parameters=_ID),
    ),
)
