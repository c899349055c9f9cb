"""Trainings: voices that are trained by recordings."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import UtcDateTime

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "trainings",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(160), nullable=False, index=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("language", sa.String(16)),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("consent_by", sa.String(160), nullable=False),
        sa.Column("consent_statement", sa.Text(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("started_at", UtcDateTime()),
        sa.Column("ended_at", UtcDateTime()),
        sa.Column("used_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("recordings", sa.Integer(), nullable=False),
        sa.Column("audio_seconds", sa.Double(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("error_code", sa.String(64)),
        sa.Column("error_message", sa.Text()),
        sa.Column("adapter_id", sa.String(32)),
        sa.Column("voice_id", sa.String(32)),
    )
    op.create_table(
        "training_recordings",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("training_id", sa.String(40), nullable=False, index=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("transcript", sa.Text(), nullable=False),
        sa.Column("audio_seconds", sa.Double(), nullable=False),
        sa.Column("checks", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("training_recordings")
    op.drop_table("trainings")
