"""Long texts that are spoken while nobody waits."""

from __future__ import annotations

from gateway.description.media import RESULTS, WORDS
from gateway.description.operation import Given, Operation, Tag

_ID = {"id": Given("job")}
_LONG = {"id": Given("long_job")}

TAG = Tag(
    "Jobs",
    "Long texts that are spoken while nobody waits, and fetched when they are complete.",
    (
        Operation(
            "POST",
            "/api/jobs",
            "Start a job",
            body={
                "text": "Chapter 1\n\nDoors open at nine.",
                "voice": "default",
                "title": "Opening hours",
                "timestamps": "word",
            },
            gives={"job": "job.id"},
        ),
        Operation(
            "GET",
            "/api/jobs/{id}",
            "How far a job is",
            parameters=_ID,
            until=("job.state", "complete"),
        ),
        Operation("GET", "/api/jobs", "List jobs", parameters={"limit": 50}),
        Operation(
            "GET",
            "/api/jobs/{id}/result",
            "Fetch the audio of a job",
            parameters={**_ID, "format": "mp3"},
            media=RESULTS,
        ),
        Operation(
            "GET",
            "/api/jobs/{id}/words.{form}",
            "Subtitles and times of words of a job",
            parameters={**_ID, "form": "srt"},
            media=WORDS,
        ),
        Operation("POST", "/api/jobs/{id}/cancel", "End a job", parameters=_LONG),
        Operation("POST", "/api/jobs/{id}/resume", "Go on with a job", parameters=_LONG),
        Operation("DELETE", "/api/jobs/{id}", "Delete a job", parameters=_LONG),
    ),
)
