"""Since when it is known of rows that they are dated ahead."""

import sqlalchemy as sa
from alembic import op

from gateway.database.tables import UtcDateTime

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dated_ahead",
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("since", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "id"),
    )


def downgrade() -> None:
    op.drop_table("dated_ahead")
