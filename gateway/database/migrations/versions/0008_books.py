"""Books: blocks of text, and jobs that are takes of them."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "books",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("owner", sa.String(160), nullable=False, index=True),
        sa.Column("title", sa.String(160), nullable=False),
        sa.Column("voice", sa.String(128), nullable=False),
        sa.Column("language", sa.String(16)),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False, index=True),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "book_blocks",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("book_id", sa.String(40), nullable=False, index=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("voice", sa.String(128)),
        sa.Column("pause_ms", sa.Integer(), nullable=False),
        sa.Column("pronunciations", sa.JSON(), nullable=False),
        sa.Column("said", sa.String(64), nullable=False),
        sa.Column("take", sa.String(40)),
        sa.Column("take_said", sa.String(64)),
    )
    op.add_column("jobs", sa.Column("book_id", sa.String(40)))
    op.add_column("jobs", sa.Column("block_id", sa.String(40)))
    op.add_column("jobs", sa.Column("seed", sa.BigInteger()))
    op.add_column("jobs", sa.Column("said", sa.String(64)))
    op.add_column("jobs", sa.Column("precedence", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_jobs_book_id", "jobs", ["book_id"])
    op.create_index("ix_jobs_block_id", "jobs", ["block_id"])


def downgrade() -> None:
    op.drop_index("ix_jobs_block_id", "jobs")
    op.drop_index("ix_jobs_book_id", "jobs")
    for name in ("precedence", "said", "seed", "block_id", "book_id"):
        op.drop_column("jobs", name)
    op.drop_table("book_blocks")
    op.drop_table("books")
