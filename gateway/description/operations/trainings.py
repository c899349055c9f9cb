"""Voices that are trained by recordings."""

from __future__ import annotations

from gateway.description.operation import Given, Operation, Tag
from gateway.training.request import RecordingForm

_ID = {"id": Given("training")}

TAG = Tag(
    "Trainings",
    "Voices that are trained by minutes of recordings with transcripts, in a process beside the service.",
    (
        Operation(
            "POST",
            "/api/trainings",
            "Begin a training",
            body={
                "name": "Anna",
                "language": "en",
                "steps": 2,
                "consent_by": "Anna Example",
                "consent_statement": "I agree that this voice is used.",
            },
            gives={"training": "training.id"},
        ),
        Operation(
            "POST",
            "/api/trainings/{id}/recordings",
            "Add a recording to a training",
            parameters=_ID,
            file="audio",
            upload="audio/wav",
            form={"transcript": "Doors open at nine, and close at ten.", "name": "1.wav"},
            fields=RecordingForm,
            gives={"recording": "recording.id"},
        ),
        Operation("GET", "/api/trainings", "List trainings"),
        Operation("POST", "/api/trainings/{id}/start", "Train", parameters=_ID),
        Operation("GET", "/api/trainings/{id}", "How far a training is", parameters=_ID),
        Operation(
            "GET",
            "/api/trainings/{id}/samples/{sample}",
            "Hear what was learnt so far",
            parameters={**_ID, "sample": "best-1"},
        ),
        Operation("POST", "/api/trainings/{id}/cancel", "End a training", parameters=_ID),
        Operation(
            "DELETE",
            "/api/trainings/{id}/recordings/{recording}",
            "Remove a recording of a training",
            parameters={**_ID, "recording": Given("recording")},
        ),
        Operation("DELETE", "/api/trainings/{id}", "Delete a training", parameters=_ID),
    ),
)
