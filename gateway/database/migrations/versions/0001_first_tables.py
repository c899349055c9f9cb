"""The first tables: voices, sessions, settings, events."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _create_voices()
    _create_sessions()
    op.create_table(
        "settings",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        sa.Column("at", UtcDateTime(), nullable=False, index=True),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("subject", sa.String(160), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
    )


def _create_voices() -> None:
    op.create_table(
        "voices",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("language", sa.String(16)),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("owner", sa.String(160), nullable=False, index=True),
        sa.Column("audio_sha256", sa.String(64), nullable=False, index=True),
        sa.Column("audio_seconds", sa.Double(), nullable=False),
        sa.Column("loudness_lufs", sa.Double(), nullable=False),
        sa.Column("transcript", sa.Text()),
        sa.Column("parameters", sa.JSON(), nullable=False),
        sa.Column("consent_by", sa.String(160)),
        sa.Column("consent_statement", sa.Text()),
        sa.Column("consent_at", UtcDateTime()),
        sa.Column("consent_sha256", sa.String(64)),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
    )


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("title", sa.String(160), nullable=False),
        sa.Column("owner", sa.String(160), nullable=False, index=True),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("created_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("ended_at", UtcDateTime()),
        sa.Column("used_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("utterances", sa.Integer(), nullable=False),
        sa.Column("audio_seconds", sa.Double(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("voice", sa.String(128), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("share_key", sa.String(64), unique=True),
    )


def downgrade() -> None:
    for table in ("events", "settings", "sessions", "voices"):
        op.drop_table(table)
