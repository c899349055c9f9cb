"""Keys of the requests that made rows, by which those are known that a client repeats."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_TABLES = ("jobs", "books", "trainings", "voices", "adapters")


def upgrade() -> None:
    for table in _TABLES:
        op.add_column(table, sa.Column("request_key", sa.String(64), nullable=True))
        op.add_column(table, sa.Column("request_sum", sa.String(64), nullable=True))
        op.create_index(f"ix_{table}_request_key", table, ["request_key"], unique=True)


def downgrade() -> None:
    for table in _TABLES:
        op.drop_index(f"ix_{table}_request_key", table)
        op.drop_column(table, "request_sum")
        op.drop_column(table, "request_key")
