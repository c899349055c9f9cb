"""Adapters: what fine-tuning learnt, to be named by requests."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import UtcDateTime

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "adapters",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("owner", sa.String(160), nullable=False, index=True),
        sa.Column("digest", sa.String(64), nullable=False, index=True),
        sa.Column("model", sa.String(256), nullable=False),
        sa.Column("model_revision", sa.String(256), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("num_layers", sa.Integer(), nullable=False),
        sa.Column("num_parameters", sa.BigInteger(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("consent_by", sa.String(160)),
        sa.Column("consent_statement", sa.Text()),
        sa.Column("consent_at", UtcDateTime()),
        sa.Column("consent_sha256", sa.String(64)),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("adapters")
