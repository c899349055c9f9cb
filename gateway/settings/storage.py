"""What is kept, where, how much of it and for how long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, SecretStr

from gateway.settings.kinds import Bytes, empty_is_none, off_is_a_word

DATABASE_FILE = "voxfleet.db"
"""In `data_dir`, where no other database is named."""
Gigabytes = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
"""10^9 bytes each; an exabyte at most."""
MOST_BOOK_BLOCKS = 100_000
"""More are refused before they are looked at, whatever a setting says."""


class StorageSettings(BaseModel):
    """What is kept, where, how much of it and for how long."""

    data_dir: Path = Path("data")
    """Where voices, sessions, jobs and the database are kept."""
    database_url: Annotated[SecretStr | None, AfterValidator(empty_is_none)] = None
    """postgresql://USER:PASSWORD@HOST/NAME, or sqlite:///PATH. None: a SQLite file in `data_dir`."""
    record_sessions: Annotated[Literal["off", "ask", "all"], BeforeValidator(off_is_a_word)] = "ask"
    """Whose sessions are recorded: nobody's, theirs who ask with `record`, or everybody's."""
    session_retention_days: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 90
    """How long a session, or a job, is kept from its beginning on, and a book after its last use; 0: for
    ever.
    """
    session_max_storage_gb: Gigabytes = 20
    """10^9 bytes of all sessions, and as many of all jobs and books; beyond them the least recently used go.
    0: any number.
    """
    session_max_owner_gb: Gigabytes = 5
    """`session_max_storage_gb` for one owner, which is an API key or an address."""
    min_free_disk_gb: Gigabytes = 1
    """10^9 bytes that recordings and voices leave free where `data_dir` is; 0: none."""
    max_jobs: Annotated[int, Field(ge=0)] = 1000
    """Jobs that the service keeps, finished ones included."""
    max_jobs_per_owner: Annotated[int, Field(ge=0)] = 50
    """Jobs of one owner, which is an API key or an address."""
    max_job_characters: Annotated[int, Field(gt=0)] = 1_000_000
    """Longest text of a job, a book or a document."""
    max_document_bytes: Bytes = 50 << 20
    """Size of a file that is sent to be read as a document."""
    max_books: Annotated[int, Field(ge=0)] = 1000
    """Books that the service keeps."""
    max_books_per_owner: Annotated[int, Field(ge=0)] = 50
    """Books of one owner, which is an API key or an address."""
    max_book_blocks: Annotated[int, Field(gt=0, le=MOST_BOOK_BLOCKS)] = 10_000
    """Chapters and paragraphs of a book; all its text has `max_job_characters`."""
    max_block_takes: Annotated[int, Field(ge=2)] = 10
    """Takes of one block of a book."""
    max_waiting_takes_per_owner: Annotated[int, Field(gt=0)] = 20_000
    """Takes of one owner's books that are not made yet."""
    jobs_at_once: Annotated[int, Field(gt=0)] = 2
    """Jobs that a gateway works on at the same time, each on one slot at most."""
    max_voices: Annotated[int, Field(ge=0)] = 1000
    """Custom voices that the service keeps."""
    max_voices_per_owner: Annotated[int, Field(ge=0)] = 100
    """Custom voices of one client."""
    max_voice_bytes: Bytes = 20 << 20
    """Size of the audio file of a voice."""
    max_adapters: Annotated[int, Field(ge=0)] = 1000
    """Adapters that the service keeps."""
    max_adapters_per_owner: Annotated[int, Field(ge=0)] = 50
    """Adapters of one client."""
    max_adapter_bytes: Bytes = 256 << 20
    """Size of the weights of an adapter."""
    max_lexicons: Annotated[int, Field(ge=0)] = 1000
    """Clients whose lexicons the service keeps."""
    max_lexicon_entries: Annotated[int, Field(ge=0, le=10_000)] = 1000
    """Words in the lexicon of one client, and in the service's beside its file."""

    @property
    def database(self) -> str:
        """The URL of the database."""
        if self.database_url is not None:
            return self.database_url.get_secret_value()
        return f"sqlite:///{self.data_dir / DATABASE_FILE}"
