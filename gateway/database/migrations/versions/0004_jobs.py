"""Jobs: texts that are spoken without anybody waiting for them."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(160), nullable=False, index=True),
        sa.Column("title", sa.String(160), nullable=False),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("voice", sa.String(128), nullable=False),
        sa.Column("format", sa.String(16), nullable=False),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("ended_at", UtcDateTime()),
        sa.Column("used_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("place", sa.JSON(), nullable=False),
        sa.Column("characters_done", sa.Integer(), nullable=False),
        sa.Column("sample_rate", sa.Integer(), nullable=False),
        sa.Column("audio_bytes", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("spent_seconds", sa.Double(), nullable=False),
        sa.Column("finish_reason", sa.String(16)),
        sa.Column("error_code", sa.String(64)),
        sa.Column("error_message", sa.Text()),
    )


def downgrade() -> None:
    op.drop_table("jobs")
