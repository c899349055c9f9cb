"""Figures of the last days, and events that can be said in any language."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "figures",
        sa.Column("length", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger, autoincrement=False, nullable=False),
        sa.Column("gateway", sa.String(16), nullable=False),
        sa.Column("figures", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("length", "at", "gateway"),
    )
    op.add_column("events", sa.Column("saying", sa.String(32), nullable=True))
    op.add_column("events", sa.Column("facts", sa.JSON, nullable=True))


def downgrade() -> None:
    op.drop_column("events", "facts")
    op.drop_column("events", "saying")
    op.drop_table("figures")
