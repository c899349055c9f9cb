"""What is searched of a session, and the seed of its first utterance."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("search_title", sa.Text(), nullable=True))
    op.add_column("sessions", sa.Column("search_text", sa.Text(), nullable=True))
    op.add_column("sessions", sa.Column("seed", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    for column in ("seed", "search_text", "search_title"):
        op.drop_column("sessions", column)
